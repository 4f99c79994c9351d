#include "plan/sampled_weights.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "weft/base/error.h"
#include "weft/files/tensor_pages.h"

#include "plan/session_plan.h"
#include "weights/device_memory.h"
#include "weights/weight_loader.h"

namespace weft::run {
namespace {

// A layer has several kinds of weights, so that together they are larger than caches.
constexpr std::int64_t kMaxKindBytes = std::int64_t{64} << 20,
                       kMinKindBytes = std::int64_t{1} << 20;
constexpr std::int64_t kSampleBytes = std::int64_t{2} << 20;  // read from the file

bool is_mapped(const PlacedWeight& w) {
  return w.offset == kInFile && !w.streamed;
}

bool same_kind(const PlacedWeight& a, const PlacedWeight& b) {
  return a.dtype == b.dtype && a.tensor->spec == b.tensor->spec && is_mapped(a) == is_mapped(b) &&
         a.whole == b.whole;
}

// Fills memory with copies of some rows: layouts of rows depend on nothing but their length.
void repeat(std::span<const std::byte> rows, std::span<std::byte> to) {
  while (!to.empty()) {
    const std::size_t n = std::min(rows.size(), to.size());
    std::memcpy(to.data(), rows.data(), n);
    to = to.subspan(n);
  }
}

using Kind = std::vector<const PlacedWeight*>;

std::vector<Kind> kinds_of(const WeightLayout& layout) {
  std::vector<Kind> kinds;
  for (const PlacedWeight& w : layout.weights) {
    const auto kind =
        std::ranges::find_if(kinds, [&](const Kind& k) { return same_kind(*k.front(), w); });
    (kind == kinds.end() ? kinds.emplace_back() : *kind).push_back(&w);
  }
  return kinds;
}

std::int64_t n_samples(const Kind& kind, std::int64_t kind_bytes) {
  return std::clamp<std::int64_t>(kind_bytes / align_up(kind.front()->bytes()), 1,
                                  std::ssize(kind));
}

}  // namespace

SampledWeights::SampledWeights(const Checkpoint& file, const WeightLayout& layout,
                               std::int64_t kind_bytes) {
  for (const Kind& kind : kinds_of(layout)) place(file, kind, kind_bytes);
}

std::int64_t kind_bytes_for(const WeightLayout& layout, const PlannedModel& planned) {
  const MemoryUse& use = planned.memory;
  const std::int64_t room = planned.options.mem_budget - use.state - use.arena - use.scratch;
  std::int64_t bytes = kMaxKindBytes;
  while (bytes > kMinKindBytes && SampledWeights::bytes_for(layout, bytes) > room) bytes /= 2;
  return bytes;
}

std::int64_t SampledWeights::bytes_for(const WeightLayout& layout, std::int64_t kind_bytes) {
  std::int64_t sum = 0;
  for (const Kind& kind : kinds_of(layout))
    if (!is_mapped(*kind.front()))
      sum += n_samples(kind, kind_bytes) * align_up(kind.front()->bytes());
  return sum;
}

void SampledWeights::place(const Checkpoint& file, const Kind& kind, std::int64_t kind_bytes) {
  const PlacedWeight& first = *kind.front();
  const std::int64_t bytes = first.bytes(), step = align_up(bytes);
  const auto n = static_cast<std::size_t>(n_samples(kind, kind_bytes));
  std::vector<const std::byte*> samples;
  if (is_mapped(first)) {
    // Tables stay themselves: a step reads only some rows.
    const std::size_t n_mapped = first.whole ? n : kind.size();
    for (std::size_t i = 0; i < n_mapped; ++i) {
      const CheckpointTensor& t = *kind[i]->tensor;
      if (first.whole) prefault_rows(file, t, 0, t.n_rows());
      samples.push_back(t.data);
    }
  } else {
    Buffer& memory = memory_.emplace_back(static_cast<std::int64_t>(n) * step);
    const std::vector<std::byte> rows = first_rows(file, first, kSampleBytes);
    for (std::size_t i = 0; i < n; ++i) {
      std::byte* at = memory.data() + static_cast<std::int64_t>(i) * step;
      repeat(rows, {at, static_cast<std::size_t>(bytes)});
      samples.push_back(at);
    }
  }
  for (std::size_t i = 0; i < kind.size(); ++i)
    places_[kind[i]->tensor->name] = samples[i % samples.size()];
}

std::int64_t SampledWeights::bytes() const {
  std::int64_t sum = 0;
  for (const Buffer& memory : memory_) sum += memory.size();
  return sum;
}

std::unique_ptr<const SampledWeights> open_samples(const Model& model,
                                                   const PlannedModel& planned) {
  if (!planned.options.sample_weights) return nullptr;
  if (!device_use(planned.graphs, planned.plans).empty())
    fail<UnsupportedError>("weights on devices cannot be sampled");
  const WeightLayout layout = layout_weights(model, planned);
  return std::make_unique<SampledWeights>(model.weights(), layout, kind_bytes_for(layout, planned));
}

}  // namespace weft::run
