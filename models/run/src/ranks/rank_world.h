#pragma once
// How rank 0 reaches the other ranks of a sharded model.

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

#include "model/other_ranks.h"
#include "ranks/command.h"

namespace weft::run {

class RankWorld final : public RankGroup, public std::enable_shared_from_this<RankWorld> {
 public:
  // Starts the other ranks, or meets those that a launcher started. Throws ValueError if it started
  // another number of them, or if one of them has another version or model; RankError if one is
  // lost.
  RankWorld(const Checkpoint& file, const ModelOptions& options);
  // Sends the others away.
  ~RankWorld() override;
  RankWorld(const RankWorld&) = delete;
  RankWorld& operator=(const RankWorld&) = delete;

  RankLink& link() override { return *link_; }
  int size() const override { return communicator_->size(); }
  int ranks_here() const override {
    return threads_.empty() ? 1 : static_cast<int>(threads_.size()) + 1;
  }
  std::unique_ptr<OtherRanks> open_session(const PlannedModel& planned) override;
  LinkSpeed measure_link(int rank) override;
  std::string_view carrier() const override { return communicator_->description(); }

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
class Followers final : public OtherRanks {
 public:
  // As RankGroup::open_session().
  Followers(std::shared_ptr<RankWorld> world, const PlannedModel& planned);
  ~Followers() override;
  Followers(const Followers&) = delete;
  Followers& operator=(const Followers&) = delete;

  void begin_step(std::span<const StepToken> tokens, bool verify) override;
  void collect_reports() override;
  void end_step(bool kept) noexcept override;

  void truncate(std::int32_t sequence, std::int64_t length) override;
  void copy(std::int32_t from, std::int32_t to, std::int64_t length) override;
  void clear(std::int32_t sequence) override;
  void mark(std::int32_t sequence, std::int64_t length) override;
  std::string why_not_saved(std::int32_t sequence) const override;
  void fill_with_noise(std::int32_t sequence, std::int64_t length) override;
  void set_lora_scales(std::int32_t sequence, std::span<const float> scales) override;
  std::span<const VerifyReport> reports() const override { return reports_; }

 private:
  template <class T>
  void tell(CommandKind kind, std::initializer_list<std::int64_t> numbers, std::span<const T> more,
            bool verify = false);

  const std::shared_ptr<RankWorld> world_;
  const int session_;
  Message message_;
  bool undo_ = false;  // the last step
  std::vector<VerifyReport> reports_;
  // The step in progress.
  std::unique_lock<std::mutex> turn_;
  std::int64_t runs_before_ = 0;
  bool reports_due_ = false;
};

// Before what steps_text() gives: the answer of a rank that has opened a session.
inline constexpr std::string_view kOpened = "opened: ";

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

// The model of one rank, which exchanges values by `link`. Throws like Model::load().
std::shared_ptr<const Model> load_rank(const Checkpoint& file, const ModelOptions& options,
                                       int rank, RankLink& link, int ranks_here);

// Runs a rank other than 0 until rank 0 sends it away. `ranks_here`: RankContext::ranks_here.
// Throws RankError if rank 0 or another one is lost.
void follow(const Checkpoint& file, const ModelOptions& options, Communicator& endpoint,
            int ranks_here);

}  // namespace weft::run
