#include "weft/quantize/quantize.h"

#include <algorithm>
#include <map>
#include <span>

#include <fmt/ranges.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"
#include "weft/files/gguf_writer.h"
#include "weft/scheduler/workers.h"

#include "converter.h"

namespace weft {
namespace {

// The version of the block formats as they are since 2023. Source: docs/gguf.md of
// https://github.com/ggml-org/ggml
constexpr std::uint64_t kQuantizationVersion = 2;

// Names the first tensor that cannot be converted, and those that cannot be for the same reason.
void check_obstacles(const QuantizePlan& plan) {
  const auto first = std::ranges::find_if(
      plan.tensors, [](const QuantizedTensor& t) { return !t.obstacle.empty(); });
  if (first == plan.tensors.end()) return;
  constexpr std::size_t kMaxNames = 32;
  std::vector<std::string> same;
  for (const QuantizedTensor& t : std::span(first + 1, plan.tensors.end()))
    if (t.obstacle == first->obstacle) same.push_back(printable(t.tensor->name));
  if (same.size() > kMaxNames) {  // a whole model rather than a layer
    const std::size_t n_more = same.size() - kMaxNames;
    same.resize(kMaxNames);
    same.push_back(fmt::format("{} more", n_more));
  }
  const std::string others =
      same.empty() ? "" : fmt::format("; the same is true of {}", fmt::join(same, ", "));
  fail<UnsupportedError>("tensor '{}' cannot become {}: {}{}", printable(first->tensor->name),
                         first->to.name(), first->obstacle, others);
}

void add_metadata(const Checkpoint& file, const QuantizePlan& plan, const Imatrix* imatrix,
                  GgufWriter& writer) {
  std::map<std::string_view, MetaValue> set;
  if (plan.file_type) set["general.file_type"] = {MetaType::uint32, std::uint64_t{*plan.file_type}};
  set["general.quantization_version"] = {MetaType::uint32, kQuantizationVersion};
  if (imatrix) {
    const auto u32 = [](std::int64_t n) {
      return MetaValue{MetaType::uint32, static_cast<std::uint64_t>(n)};
    };
    set["quantize.imatrix.file"] = {MetaType::string, std::string_view(imatrix->source)};
    if (!imatrix->datasets.empty())
      set["quantize.imatrix.dataset"] = {MetaType::string,
                                         std::string_view(imatrix->datasets.front())};
    set["quantize.imatrix.entries_count"] = u32(std::ssize(imatrix->entries));
    if (imatrix->chunk_count > 0) set["quantize.imatrix.chunks_count"] = u32(imatrix->chunk_count);
  }
  for (const MetaEntry& entry : file.metadata()) {
    if (is_layout_key(entry.key)) continue;
    const auto found = set.find(entry.key);
    writer.add(entry.key, found == set.end() ? entry.value : found->second);
    if (found != set.end()) set.erase(found);
  }
  for (const auto& [key, value] : set) writer.add(key, value);
}

}  // namespace

void quantize_file(const Checkpoint& file, const QuantizePlan& plan, const QuantizeOptions& options,
                   const QuantizeRun& run, const std::string& path) {
  check_output(file, path);
  check_obstacles(plan);
  GgufWriter writer(file.alignment());
  add_metadata(file, plan, options.imatrix, writer);
  quantize::Converter converter(file, plan, options,
                                run.workers > 0 ? run.workers : default_workers());
  const auto after_piece = [&](double share) {
    if (run.progress && !run.progress(share)) fail<CancelledError>("quantizing was cancelled");
  };
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const QuantizedTensor& t = plan.tensors[i];
    writer.add_tensor(std::string(t.tensor->name), {t.to, t.tensor->spec.shape},
                      [&, i](const GgufWriter::Put& put) {
                        converter.put_tensor(i, put, after_piece);
                        if (run.finished) run.finished(plan.tensors[i]);
                      });
  }
  after_piece(0);
  writer.write(path);
}

}  // namespace weft
