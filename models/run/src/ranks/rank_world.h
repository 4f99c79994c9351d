#pragma once
// The ranks of a sharded model as rank 0 sees them.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "weft/run/memory_plan.h"
#include "weft/run/session.h"
#include "weft/scheduler/rank_link.h"
#include "weft/scheduler/verify.h"

#include "ranks/command.h"

namespace weft::run {

class RankWorld {
 public:
  // Starts the other ranks, or meets those that a launcher started. Throws ValueError if it started
  // another number of them, or if one of them has another version or model; RankError if one is
  // lost.
  RankWorld(const Checkpoint& file, const ModelOptions& options);
  // Sends the others away.
  ~RankWorld();
  RankWorld(const RankWorld&) = delete;
  RankWorld& operator=(const RankWorld&) = delete;

  RankLink& link() { return *link_; }
  int share() const { return threads_.empty() ? 1 : static_cast<int>(threads_.size()) + 1; }
  // Locked from the command for a step to its end: sessions take turns.
  std::mutex& turn() { return turn_; }

  // To all others; nothing is sent any more after one was lost.
  void send(std::span<const std::byte> message);
  bool is_lost() const { return link_->loss() || loss_; }
  void check() const;  // throws RankError if one is lost
  // Makes all others end, which may wait for this rank.
  void give_up(const RankError& why);
  // One message of each other rank, in their order. Throws RankError.
  std::vector<std::string> receive_from_all(double seconds);
  LinkSpeed measure_link(int rank);
  int size() const { return communicator_->size(); }
  std::string_view carrier() const { return communicator_->description(); }
  int new_session() { return next_session_++; }

 private:
  void connect(const Checkpoint& file, const ModelOptions& options);
  void start_threads(const Checkpoint& file, const ModelOptions& options);
  void meet(const std::string& own);
  double time_echoes(int rank, std::int64_t n, std::int64_t bytes);

  std::vector<std::unique_ptr<Communicator>> endpoints_;  // in process, by rank
  std::unique_ptr<Communicator> slowed_;                  // null unless links are slowed down
  Communicator* communicator_ = nullptr;                  // that of rank 0
  std::unique_ptr<RankLink> link_;
  std::mutex turn_;
  std::atomic<int> next_session_ = 0;
  std::optional<RankError> loss_;  // a rank that was found missing between steps
  std::vector<std::thread> threads_;
};

// The other ranks' parts of a session of rank 0.
class Followers {
 public:
  // Opens their sessions, and waits for them. Throws Error if one cannot be opened, or if a rank
  // has room for narrower steps only.
  Followers(std::shared_ptr<RankWorld> world, const PlannedModel& planned);
  ~Followers();
  Followers(const Followers&) = delete;
  Followers& operator=(const Followers&) = delete;

  void truncate(std::int32_t sequence, std::int64_t length);
  void copy(std::int32_t from, std::int32_t to, std::int64_t length);
  void set_lora_scales(std::int32_t sequence, std::span<const float> scales);
  void fill_with_noise(std::int32_t sequence, std::int64_t length);
  // What they found in the last step, if it was verified.
  const std::vector<VerifyReport>& reports() const { return reports_; }

 private:
  friend class FollowersStep;
  template <class T>
  void tell(CommandKind kind, std::initializer_list<std::int64_t> numbers, std::span<const T> more,
            bool verify = false);

  const std::shared_ptr<RankWorld> world_;
  const int session_;
  Message message_;
  bool undo_ = false;  // the last step
  std::vector<VerifyReport> reports_;
};

// A step that the other ranks compute, too, until it is destroyed. Unless it was kept, the others
// undo it. Sessions take turns.
class FollowersStep {
 public:
  // Tells the others, which then wait for this rank in their exchanges. Throws RankError if one is
  // lost.
  FollowersStep(Followers& followers, std::span<const StepToken> tokens, bool verify);
  ~FollowersStep();
  FollowersStep(const FollowersStep&) = delete;
  FollowersStep& operator=(const FollowersStep&) = delete;

  // If it was verified, takes Followers::reports(). Throws RankError.
  void collect_reports();
  void keep() noexcept { kept_ = true; }

 private:
  Followers& followers_;
  RankWorld& world_;
  const std::lock_guard<std::mutex> turn_;
  const std::int64_t runs_before_;
  bool reports_due_;
  bool kept_ = false;
};

// Throws UnsupportedError if the model is divided: other ranks have the rest of the memory of
// sequences, so that they cannot be saved.
void refuse_sharded(const Model& model);

// Before what steps_text() gives: the answer of a rank that has opened a session.
inline constexpr std::string_view kOpened = "opened: ";

// Null unless the model is that of rank 0.
std::unique_ptr<Followers> open_followers(const Model& model, const PlannedModel& planned);

// The options of a session as a text, for the others.
std::string options_text(const SessionOptions& options);
SessionOptions options_of_text(std::string_view text);
// What plans of all ranks must have in common: "8192 cells, steps of up to 1, 8, 128 tokens".
std::string steps_text(const PlannedModel& planned);

// A report as a text, for rank 0.
std::string report_text(const VerifyReport& report);
VerifyReport report_of_text(std::string_view text);

// What ranks compare when they meet: version, sharding, model.
std::string introduction(const Checkpoint& file, const ModelOptions& options);

// Runs a rank other than 0 until rank 0 sends it away. `share`: RankContext::share. Throws
// RankError if rank 0 or another one is lost.
void follow(const Checkpoint& file, const ModelOptions& options, Communicator& endpoint, int share);

}  // namespace weft::run
