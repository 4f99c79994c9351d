#include "weft/files/rank_file.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/gguf_types.h"
#include "weft/files/gguf_writer.h"
#include "weft/files/tensor_pages.h"
#include "weft/files/weft_keys.h"

#include "ranks/stored_parts.h"
#include "tensor_parts.h"

namespace weft {
namespace {

constexpr std::int64_t kCopiedBytes = std::int64_t{1} << 20;  // at once

std::string stored_name(std::size_t i) {
  return fmt::format("part.{}", i);
}

void add_numbers(GgufWriter& writer, std::string_view key, std::vector<std::int64_t> numbers) {
  const auto array = std::make_shared<MetaArray>(
      MetaArray{.element = MetaType::int64, .values = std::move(numbers)});
  writer.add(key, {MetaType::array, std::shared_ptr<const MetaArray>(array)});
}

// The header's facts about all tensors of the model, without their places.
void add_tensor_list(const Checkpoint& model, GgufWriter& writer) {
  std::vector<std::string> names;
  std::vector<std::int64_t> types, shapes;
  for (const CheckpointTensor& tensor : model.tensors()) {
    names.emplace_back(tensor.name);
    types.push_back(tensor.spec.dtype.gguf_id());
    for (int i = 0; i < kMaxDims; ++i)
      shapes.push_back(i < tensor.spec.shape.n_dims() ? tensor.spec.shape[i].bound : 0);
  }
  writer.add_strings(kSplitTensorsKey, names);
  add_numbers(writer, kSplitTypesKey, std::move(types));
  add_numbers(writer, kSplitShapesKey, std::move(shapes));
}

void add_facts(const RankFileFacts& facts, GgufWriter& writer) {
  writer.add_string(kSplitShardingKey, facts.sharding);
  writer.add_u64(kSplitMinElemsKey, static_cast<std::uint64_t>(facts.min_elems));
  writer.add_u32(kSplitRankKey, static_cast<std::uint32_t>(facts.rank));
  writer.add_u32(kSplitRanksKey, static_cast<std::uint32_t>(facts.ranks));
  writer.add_u64(kSplitSampleKey, facts.sample);
}

template <class After>
void copy_part(const Checkpoint& file, const CheckpointTensor& part, const GgufWriter::Put& put,
               const After& after) {
  const std::int64_t row_bytes = part.row_bytes(), n_rows = part.n_rows();
  const std::int64_t step = std::max<std::int64_t>(1, kCopiedBytes / row_bytes);
  std::vector<std::byte> rows;
  for (std::int64_t first = 0; first < n_rows; first += step) {
    const std::int64_t last = std::min(first + step, n_rows);
    prefault_rows(file, part, first, last);
    rows.resize(static_cast<std::size_t>((last - first) * row_bytes));
    copy_rows(part, first, last, rows.data());
    put(rows);
    after(std::ssize(rows));
  }
  for (const RowSource& from : row_sources(part, 0, n_rows)) unmap_source(from);
}

// "rank-0-of-4.gguf"
bool is_rank_file_name(std::string_view name) {
  return name.starts_with("rank-") && name.ends_with(".gguf") && name.find("-of-") != name.npos;
}

template <class T>
T required(const Checkpoint& file, std::string_view key, std::optional<T> value) {
  if (!value) fail<FormatError>("{}: key '{}' is missing", printable_path(file.path()), key);
  return std::move(*value);
}

// A number from 0 to `max`.
std::int64_t number_of(const Checkpoint& file, std::string_view key, std::int64_t max) {
  const std::uint64_t n = required(file, key, file.find_uint(key));
  if (n > static_cast<std::uint64_t>(max))
    fail<FormatError>("{}: key '{}' must be at most {}, got {}", printable_path(file.path()), key,
                      max, n);
  return static_cast<std::int64_t>(n);
}

// An array of this many elements.
template <class T>
std::vector<T> list_of(const Checkpoint& file, std::string_view key,
                       std::optional<std::vector<T>> list, std::size_t size) {
  std::vector<T> all = required(file, key, std::move(list));
  if (all.size() != size)
    fail<FormatError>("{}: key '{}' must have {} elements, got {}", printable_path(file.path()),
                      key, size, all.size());
  return all;
}

}  // namespace

std::string rank_file_name(std::int64_t rank, std::int64_t ranks) {
  return fmt::format("rank-{}-of-{}.gguf", rank, ranks);
}

std::vector<std::string> rank_files_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  if (error) return names;
  for (; entry != std::filesystem::directory_iterator(); entry.increment(error))
    if (std::string name = entry->path().filename(); is_rank_file_name(name))
      names.push_back(std::move(name));
  if (error) fail<IoError>("{}: cannot be listed: {}", printable_path(folder), error.message());
  std::ranges::sort(names);
  return names;
}

void write_rank_file(const Checkpoint& model, std::span<const TensorPart> parts,
                     const RankFileFacts& facts, const std::string& path,
                     const std::function<bool(double)>& progress) {
  check_output(model, path);
  const Checkpoint own = model.with_parts(parts);
  GgufWriter writer;
  for (const MetaEntry& entry : model.metadata())
    if (!is_layout_key(entry.key)) writer.add(entry.key, entry.value);
  add_facts(facts, writer);
  add_tensor_list(model, writer);
  std::vector<std::string> names;
  std::int64_t total = 0, done = 0;
  const auto report = [&](std::int64_t n_bytes) {
    done += n_bytes;
    if (progress && !progress(static_cast<double>(done) / static_cast<double>(total)))
      fail<CancelledError>("writing {} was cancelled", printable_path(path));
  };
  for (const CheckpointTensor& part : own.tensors()) {
    writer.add_tensor(stored_name(names.size()), part.spec,
                      [&](const GgufWriter::Put& put) { copy_part(own, part, put, report); });
    names.emplace_back(part.name);
    total += part.n_bytes;
  }
  writer.add_strings(kSplitPartsKey, names);
  writer.write(path);
}

std::optional<RankFileFacts> rank_file_facts(const Checkpoint& file) {
  if (!file.find(kSplitShardingKey)) return std::nullopt;
  constexpr std::int64_t kMaxFileRanks = 1 << 16;
  RankFileFacts facts;
  facts.sharding = *file.find_string(kSplitShardingKey);
  facts.min_elems = number_of(file, kSplitMinElemsKey, INT64_MAX);
  facts.ranks = number_of(file, kSplitRanksKey, kMaxFileRanks);
  if (facts.ranks < 1)
    fail<FormatError>("{}: key '{}' must be at least 1", printable_path(file.path()),
                      kSplitRanksKey);
  facts.rank = number_of(file, kSplitRankKey, facts.ranks - 1);
  facts.sample = required(file, kSplitSampleKey, file.find_uint(kSplitSampleKey));
  return facts;
}

namespace files {
namespace {

TensorSpec listed_spec(const Checkpoint& file, std::string_view name, std::int64_t type,
                       std::span<const std::int64_t> shape) {
  const auto refuse = [&](std::string_view why) {
    fail<FormatError>("{}: the listed tensor '{}' {}", printable_path(file.path()), printable(name),
                      why);
  };
  TensorSpec spec;
  if (type >= 0 && type <= INT32_MAX)
    spec.dtype = gguf::find_type(static_cast<std::uint32_t>(type));
  if (!spec.dtype.valid()) refuse(fmt::format("has the unknown type {}", type));
  const auto end = std::ranges::find(shape, 0);
  const std::vector<Dim> dims(shape.begin(), end);
  if (dims.empty() || std::ranges::any_of(shape, [](std::int64_t n) { return n < 0; }) ||
      std::any_of(end, shape.end(), [](std::int64_t n) { return n != 0; }))
    refuse(fmt::format("has the dimensions {}", fmt::join(shape, ", ")));
  try {
    spec.shape = Shape(dims);
  } catch (const ShapeError& error) {
    refuse(fmt::format("has a wrong shape: {}", error.what()));
  }
  std::int64_t n_bytes = 0;
  const std::int64_t block = spec.dtype.block_elems();
  if (spec.shape.last() % block != 0 ||
      __builtin_mul_overflow(spec.shape.elems() / block, std::int64_t{spec.dtype.block_bytes()},
                             &n_bytes))
    refuse(fmt::format("cannot be {} of {}", to_string(spec.shape), spec.dtype.name()));
  return spec;
}

}  // namespace

void present_model(const Checkpoint& file, OpenedFiles& view) {
  auto stored = std::make_shared<StoredParts>();
  const auto names =
      list_of(file, kSplitPartsKey, file.find_strings(kSplitPartsKey), file.tensors().size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const CheckpointTensor* part = file.find_tensor(stored_name(i));
    if (!part || !stored->emplace(names[i], *part).second)
      fail<FormatError>("{}: part '{}' is missing or listed twice", printable_path(file.path()),
                        printable(names[i]));
  }
  const auto tensors = required(file, kSplitTensorsKey, file.find_strings(kSplitTensorsKey));
  const auto types = list_of(file, kSplitTypesKey, file.find_ints(kSplitTypesKey), tensors.size());
  const auto shapes =
      list_of(file, kSplitShapesKey, file.find_ints(kSplitShapesKey), tensors.size() * kMaxDims);
  view.head.tensors.clear();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    CheckpointTensor& tensor = view.head.tensors.emplace_back();
    tensor.name = tensors[i];
    tensor.spec =
        listed_spec(file, tensors[i], types[i], std::span(shapes).subspan(i * kMaxDims, kMaxDims));
    tensor.n_bytes = tensor.spec.dtype.bytes(tensor.spec.shape.elems());
    tensor.absent = true;
  }
  view.stored = std::move(stored);
}

CheckpointTensor find_part(const OpenedFiles& files, const CheckpointTensor& source,
                           const TensorPart& part) {
  const auto found = files.stored->find(part.name);
  if (found == files.stored->end())
    fail<FormatError>("{}: has no part '{}'", printable_path(files.paths.front()),
                      printable(part.name));
  if (found->second.spec.dtype != source.spec.dtype)
    fail<FormatError>("{}: part '{}' is {}, but its tensor is {}",
                      printable_path(files.paths.front()), printable(part.name),
                      found->second.spec.dtype.name(), source.spec.dtype.name());
  if (const Shape shape = shape_of_part(source, part); found->second.spec.shape != shape)
    fail<FormatError>("{}: part '{}' must be {}, got {}", printable_path(files.paths.front()),
                      printable(part.name), to_string(shape), to_string(found->second.spec.shape));
  return found->second;
}

}  // namespace files
}  // namespace weft
