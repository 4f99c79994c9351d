#include "session/session_stream.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/pages.h"
#include "weft/graph/graph.h"
#include "weft/run/read_choices.h"

#include "model/model_impl.h"
#include "plan/session_plan.h"
#include "streaming/packed_file.h"
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

// The paths of the files, by index. Those from which nothing is streamed are empty.
std::vector<std::string> streamed_files(const WeightFiles& files, const Residency& residency) {
  std::vector<std::string> paths(files.paths().size());
  for (const std::string_view path : streamed_paths(residency)) {
    const auto i = static_cast<std::size_t>(files.at(path).file);
    paths[i] = files.paths()[i];
  }
  return paths;
}

UsageFile usage_file(const Checkpoint& model, const SessionOptions& options) {
  if (options.expert_usage != "auto") return {.path = options.expert_usage, .warn = options.warn};
  return {.path = model.path() + ".experts", .warn = {}};
}

[[noreturn]] void refuse_replaced(const std::string& path) {
  fail<IoError>("{}: was replaced while it was in use; load it again", printable_path(path));
}

// Throws IoError if a path leads to another file than the one that is mapped: the files were opened
// a moment before.
void check_files(const Checkpoint& model, const MappedFile& packed,
                 std::span<const std::string> paths) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].empty()) continue;
    const bool is_same = packed.bytes().empty() ? model.is_at_path(static_cast<std::int32_t>(i))
                                                : packed.is_at(paths[i]);
    if (!is_same) refuse_replaced(paths[i]);
  }
}

}  // namespace

SessionStream::SessionStream(const Checkpoint& model, const Residency& residency,
                             StreamSource source, const SessionOptions& options, Tables tables,
                             const ExpertGuesses::InMemory& in_memory)
    : model_(model),
      residency_(residency),
      source_(std::move(source)),
      usage_file_(usage_file(model, options)),
      tables_(std::move(tables)),
      poll_(options.poll),
      queue_(streamed_files(source_.files, residency),
             queue_options(residency, options.open_reads)),
      ring_(source_.files, residency, queue_),
      experts_(source_.files, residency, queue_, ends_, {model, residency, in_memory}),
      left_(n_units()) {
  check_files(model, source_.packed, queue_.paths());
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
    experts_.warm_up(run::read_usage(usage_file_.path, model_, residency_));
  } catch (const std::exception& e) {
    warn(fmt::format("{}; starting without experts in memory", e.what()));
  }
}

void SessionStream::write_usage() noexcept {
  if (usage_file_.path.empty() || residency_.groups.empty() || !has_run_) return;
  try {
    run::write_usage(usage_file_.path, model_, experts_.usage());
  } catch (const std::exception& e) {
    warn(fmt::format("{}; the usage of experts is lost", e.what()));
  }
}

namespace {

StreamSource open_source(const Model& model, const PlannedModel& planned) {
  if (streams_packed(planned.options)) {
    const PackedFile file = packed_file(model, planned);
    return {.files = file.files(),
            .packed = impl_of(model).open_packed(file, load_options(model, planned))};
  }
  StreamSource source{.files = WeightFiles(model.weights()), .packed = {}};
  for (const std::string_view path : streamed_paths(planned.residency)) {
    if (!source.files.contains(path)) refuse_replaced(model.weights().path());
  }
  return source;
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
    return weights ? weights->view(path) : View{};
  };
  return std::make_unique<SessionStream>(model.weights(), planned.residency,
                                         open_source(model, planned), planned.options,
                                         std::move(tables), in_memory);
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
  if (it == units_.end()) return nullptr;
  if (!is_group(it->second.unit)) return ring_.data(static_cast<std::size_t>(it->second.unit));
  if (source_.packed.bytes().empty()) return nullptr;
  return source_.packed.bytes().data() + source_.files.at(path).offset;
}

void SessionStream::begin(std::span<const std::int32_t> uses, const std::atomic<bool>* cancel,
                          const std::atomic<bool>& stopped) {
  poll_.begin();
  ends_ = {.cancel = cancel, .stopped = &stopped, .poll = &poll_};
  must_start_over_ = (must_start_over_ || queue_.failed()) && !start_over();
  failure_is_old_ = must_start_over_;
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

void SessionStream::check_mapped() const {
  if (source_.packed.failed()) refuse_missing_pages(source_.files.paths().front());
}

void SessionStream::rethrow() {
  poll_.rethrow();
  if (!failure_is_old_) queue_.rethrow();
}

}  // namespace weft::run
