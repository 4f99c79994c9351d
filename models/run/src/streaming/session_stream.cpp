#include "streaming/session_stream.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/pages.h"
#include "weft/graph/graph.h"
#include "weft/run/read_choices.h"

#include "session_plan.h"
#include "streaming/residency.h"

namespace weft::run {
namespace {

// The inputs of products with experts (weft/ops/projections/expert_linear.h).
constexpr std::size_t kX = 0, kIds = 2;

ReadQueue::Options queue_options(const Residency& residency, const OpenFileReads& open) {
  std::size_t n = residency.streamed.size();
  for (const SlotClass& slots : residency.slots) n += static_cast<std::size_t>(slots.n_slots);
  const ReadChoices choices = read_choices();
  return {.depth = choices.depth, .block = choices.block, .max_fills = n, .open = open};
}

// The paths of parts, by index. Parts from which nothing is streamed have empty ones.
std::vector<std::string> streamed_parts(const Checkpoint& file, const Residency& residency) {
  std::vector<std::string> paths(file.part_paths().size());
  for (const std::string_view path : streamed_paths(residency)) {
    const auto part = static_cast<std::size_t>(file.find_tensor(path)->part);
    paths[part] = file.part_paths()[part];
  }
  return paths;
}

// Throws IoError if a path leads to another file than the one that the plan was made for.
void check_files(const Checkpoint& file, std::span<const std::string> parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].empty() && !file.is_at_path(static_cast<std::int32_t>(i)))
      fail<IoError>("{}: was replaced while it was in use; load it again",
                    printable_path(parts[i]));
  }
}

}  // namespace

SessionStream::SessionStream(const Checkpoint& file, const Residency& residency,
                             const OpenFileReads& open, std::function<bool()> poll, Tables tables,
                             UsageFile usage, const ExpertGuesses::InMemory& in_memory)
    : file_(file),
      residency_(residency),
      usage_file_(std::move(usage)),
      tables_(std::move(tables)),
      poll_(std::move(poll)),
      queue_(streamed_parts(file, residency), queue_options(residency, open)),
      ring_(file, residency, queue_),
      experts_(file, residency, queue_, ends_, in_memory),
      left_(n_units()) {
  check_files(file, queue_.paths());
  int unit = 0;
  for (const StreamedWeight& w : residency.streamed) units_[w.path] = {.unit = unit++};
  for (const ExpertGroup& group : residency.groups) {
    for (std::size_t i = 0; i < group.paths.size(); ++i)
      units_[group.paths[i]] = {.unit = unit, .weight = i};
    ++unit;
  }
  ring_.restart();
  read_usage();
}

void SessionStream::warn(const std::string& text) const noexcept {
  try {
    if (usage_file_.warn) usage_file_.warn(text);
  } catch (...) {  // nothing depends on the callback
  }
}

void SessionStream::read_usage() noexcept {
  if (usage_file_.path.empty() || residency_.groups.empty()) return;
  try {
    experts_.warm_up(run::read_usage(usage_file_.path, file_, residency_));
  } catch (const std::exception& e) {
    warn(fmt::format("{}; starting without experts in memory", e.what()));
  }
}

void SessionStream::write_usage() noexcept {
  if (usage_file_.path.empty() || residency_.groups.empty() || !has_run_) return;
  try {
    run::write_usage(usage_file_.path, file_, experts_.usage());
  } catch (const std::exception& e) {
    warn(fmt::format("{}; the usage of experts is lost", e.what()));
  }
}

namespace {

UsageFile usage_file(const Model& model, const SessionOptions& options) {
  if (options.expert_usage != "auto") return {.path = options.expert_usage, .warn = options.warn};
  return {.path = model.file().path() + ".experts", .warn = {}};
}

}  // namespace

std::unique_ptr<SessionStream> open_stream(const Model& model, const PlannedModel& planned,
                                           const ResidentWeights* weights) {
  if (planned.residency.empty()) return nullptr;
  Tables tables{.bytes = {}, .max_rows = planned.options.prefill_width};
  for (const PlacedWeight& w : layout_weights(model, planned).weights) {
    const CheckpointTensor& tensor = *w.tensor;
    if (w.offset == kInFile && !w.streamed && !tensor.lent)
      tables.bytes.emplace_back(tensor.data, static_cast<std::size_t>(tensor.n_bytes));
  }
  const auto in_memory = [weights](std::string_view path) {
    return reinterpret_cast<const float*>(weights ? weights->find(path, f32) : nullptr);
  };
  return std::make_unique<SessionStream>(
      model.weights(), planned.residency, planned.options.open_reads, planned.options.poll,
      std::move(tables), usage_file(model, planned.options), in_memory);
}

void SessionStream::count_rows(std::int64_t n) noexcept {
  rows_read_ += n;
  if (rows_read_ < tables_.max_rows) return;
  rows_read_ = 0;
  for (const std::span<const std::byte> table : tables_.bytes) release_pages(table);
}

SessionStream::~SessionStream() {
  queue_.drain();
  write_usage();
}

int SessionStream::unit_of(const Node& weight) const {
  const auto it = units_.find(weight.path);
  return it == units_.end() ? kNoUnit : it->second.unit;
}

PagedRows* SessionStream::paged(const Node& weight) const {
  const auto it = units_.find(weight.path);
  if (it == units_.end() || !is_group(it->second.unit)) return nullptr;
  return experts_.paged(group_of(it->second.unit), it->second.weight);
}

const std::byte* SessionStream::data(std::string_view path) const {
  const auto it = units_.find(std::string(path));
  if (it == units_.end() || is_group(it->second.unit)) return nullptr;
  return ring_.data(static_cast<std::size_t>(it->second.unit));
}

void SessionStream::begin(std::span<const std::int32_t> uses, const std::atomic<bool>* cancel,
                          const std::atomic<bool>& stopped) {
  poll_.begin();
  ends_ = {.cancel = cancel, .stopped = &stopped, .poll = &poll_};
  must_start_over_ = (must_start_over_ || queue_.failed()) && !start_over();
  has_run_ = true;
  experts_.begin();
  for (std::size_t i = 0; i < left_.size(); ++i) left_[i].store(uses[i], std::memory_order_relaxed);
}

bool SessionStream::acquire(int unit, std::span<const View> in, std::int64_t row0,
                            std::int64_t row1) noexcept {
  if (must_start_over_) return false;
  if (is_group(unit)) {
    experts_.acquire(group_of(unit), in[kX], in[kIds], row0, row1);
    return !experts_.cut_short();
  }
  return queue_.wait(ring_.fill(static_cast<std::size_t>(unit)), ends_, wait_ns_);
}

bool SessionStream::release(int unit) noexcept {
  if (left_[static_cast<std::size_t>(unit)].fetch_sub(1, std::memory_order_acq_rel) == 1)
    is_group(unit) ? experts_.release(group_of(unit))
                   : ring_.release(static_cast<std::size_t>(unit));
  return !experts_.cut_short();
}

void SessionStream::end() noexcept {
  const auto is_left = [](const auto& left) { return left.load(std::memory_order_relaxed) > 0; };
  if (experts_.cut_short() || std::ranges::any_of(left_, is_left)) {
    queue_.clear();
    must_start_over_ = true;
  }
  ends_ = {};
}

// Begins again after a run that ended early, when its last reads have arrived. Returns false if the
// new run has to end before.
bool SessionStream::start_over() {
  if (!queue_.drain(ends_)) return false;
  experts_.reset();
  queue_.forget_failure();
  ring_.restart();
  return true;
}

StreamStats SessionStream::stats() const {
  StreamStats stats{.wait_ns = wait_ns_.load(std::memory_order_relaxed),
                    .bytes_read = queue_.stats().bytes,
                    .reader = queue_.describe()};
  experts_.add_stats(stats);
  return stats;
}

void SessionStream::rethrow() {
  poll_.rethrow();
  queue_.rethrow();
}

}  // namespace weft::run
