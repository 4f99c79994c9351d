#pragma once
// The weights of a session that are read from disk while steps run (weft/run/residency.h).

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/files/checkpoint.h"
#include "weft/files/mapped_file.h"
#include "weft/run/residency.h"
#include "weft/run/session.h"
#include "weft/scheduler/weight_stream.h"

#include "streaming/expert_memory.h"
#include "streaming/read_queue.h"
#include "streaming/ring.h"
#include "streaming/run_ends.h"
#include "streaming/weight_files.h"

namespace weft::run {

class ResidentWeights;

// The mapped tables of a session. Steps read only some of their rows. The pages are released each
// time that `max_rows` rows were read.
struct Tables {
  std::vector<std::span<const std::byte>> bytes;
  std::int64_t max_rows = 0;
};

// The file that keeps the usage of experts (expert_usage.h). Without a path, there is none.
struct UsageFile {
  std::string path;
  std::function<void(const std::string&)> warn;  // may be empty
};

// Where weights are read from.
struct StreamSource {
  WeightFiles files;
  MappedFile packed;  // the packed file, if it is that (packed_file.h)
};

class SessionStream final : public WeightStream {
 public:
  // Allocates residency.bytes(). `options` are the session's. `model` and the weights in memory,
  // which `in_memory` finds, outlive it. Throws IoError.
  SessionStream(const Checkpoint& model, const Residency& residency, StreamSource source,
                const SessionOptions& options, Tables tables,
                const ExpertGuesses::InMemory& in_memory);
  ~SessionStream() override;

  // The address of a weight that is read as a whole, and of an expert's in a packed file: correct
  // to read, but slow. Null for others.
  const std::byte* data(std::string_view path) const;
  // A step has read that many rows of each table.
  void count_rows(std::int64_t n) noexcept;
  // After a run that ended early: throws what the poll threw, or IoError if a read failed. Returns
  // if the run was cancelled.
  void rethrow();
  // Throws IoError if the packed file has lost bytes.
  void check_mapped() const;
  std::int64_t bytes() const { return ring_.bytes() + experts_.bytes(); }  // allocated
  StreamStats stats() const;                                               // any thread

  std::size_t n_units() const override { return ring_.size() + experts_.n_groups(); }
  int unit_of(const Node& weight) const override;
  PagedRows* paged(const Node& weight) const override;
  void begin(std::span<const std::int32_t> uses, const std::atomic<bool>* cancel,
             const std::atomic<bool>& stopped) override;
  bool acquire(int unit, std::span<const View> in, std::int64_t row0,
               std::int64_t row1) noexcept override;
  bool release(int unit) noexcept override;
  void end() noexcept override;

 private:
  bool is_group(int unit) const { return unit >= static_cast<int>(ring_.size()); }
  std::size_t group_of(int unit) const { return static_cast<std::size_t>(unit) - ring_.size(); }
  bool start_over();
  void warn(const std::string& text) const noexcept;
  void read_usage() noexcept;
  void write_usage() noexcept;

  struct Streamed {
    int unit = kNoUnit;
    std::size_t weight = 0;  // its index in the group
  };
  std::unordered_map<std::string, Streamed> units_;  // by path
  const Checkpoint& model_;
  const Residency residency_;
  const StreamSource source_;
  const UsageFile usage_file_;
  const Tables tables_;
  std::int64_t rows_read_ = 0;  // since the pages of tables were released
  WaitPoll poll_;
  RunEnds ends_;
  ReadQueue queue_;
  Ring ring_;
  ExpertMemory experts_;
  std::vector<std::atomic<std::int32_t>> left_;  // by unit: calls that the run has still to make
  bool has_run_ = false;
  bool must_start_over_ = false;          // the last run ended early
  bool failure_is_old_ = false;           // the queue still has the failure of an earlier run
  std::atomic<std::int64_t> wait_ns_{0};  // spent on weights of the ring
};

// Null if the plan streams nothing. `weights` are those that are not streamed; they outlive it, and
// may be null. Throws IoError.
std::unique_ptr<SessionStream> open_stream(const Model& model, const PlannedModel& planned,
                                           const ResidentWeights* weights);

}  // namespace weft::run
