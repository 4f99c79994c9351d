// The two file forms of an importance matrix: reading both, writing one.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"
#include "weft/files/cursor.h"
#include "weft/files/gguf_limits.h"
#include "weft/files/gguf_writer.h"
#include "weft/files/mapped_file.h"
#include "weft/quantize/imatrix.h"

#include "imatrix_limits.h"

namespace weft {
namespace {

using namespace quantize;

constexpr std::string_view kSums = ".in_sum2", kCounts = ".counts";
constexpr std::string_view kType = "general.type", kDatasets = "imatrix.datasets",
                           kChunkCount = "imatrix.chunk_count", kChunkSize = "imatrix.chunk_size";

// `bytes` need not be aligned. Fails unless each value is a number from 0 to `limit`.
std::vector<float> read_floats(std::span<const std::byte> bytes, double limit,
                               const std::string& file, std::string_view tensor) {
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0 && static_cast<double>(values[i]) <= limit) continue;
    fail<FormatError>("{}: tensor '{}': value {} must be from 0 to {}, got {}",
                      printable_path(file), printable(tensor), i, limit, values[i]);
  }
  return values;
}

std::vector<float> read_floats(const CheckpointTensor& tensor, double limit,
                               const std::string& file) {
  if (tensor.spec.dtype != f32) {
    fail<FormatError>("{}: tensor '{}' must have type F32, got {}", printable_path(file),
                      printable(tensor.name), tensor.spec.dtype.name());
  }
  return read_floats({tensor.data, static_cast<std::size_t>(tensor.n_bytes)}, limit, file,
                     tensor.name);
}

Imatrix::Entry read_entry(const Checkpoint& file, const CheckpointTensor& sums,
                          std::string_view name) {
  const CheckpointTensor* counts = file.find_tensor(std::string(name) + std::string(kCounts));
  if (!counts) {
    fail<FormatError>("{}: tensor '{}' exists without '{}{}'", printable_path(file.path()),
                      printable(sums.name), printable(name), kCounts);
  }
  Imatrix::Entry entry{.sums = read_floats(sums, kMaxSum, file.path()), .counts = {}};
  for (const float count : read_floats(*counts, kMaxCount, file.path()))
    entry.counts.push_back(std::llround(count));
  if (entry.sums.size() % entry.counts.size() != 0) {
    fail<FormatError>("{}: tensor '{}' has {} values, which is not a multiple of the {} of '{}'",
                      printable_path(file.path()), printable(sums.name), entry.sums.size(),
                      entry.counts.size(), printable(counts->name));
  }
  return entry;
}

std::int64_t read_number(const Checkpoint& file, std::string_view key, std::uint64_t min) {
  constexpr auto kMax = static_cast<std::uint64_t>(kMaxChunks);
  const auto value = file.find_uint(key);
  if (!value) fail<FormatError>("{}: key '{}' is missing", printable_path(file.path()), key);
  if (*value < min || *value > kMax) {
    fail<FormatError>("{}: key '{}' must be from {} to {}, got {}", printable_path(file.path()),
                      key, min, kMax, *value);
  }
  return static_cast<std::int64_t>(*value);
}

Imatrix parse_gguf(const Checkpoint& file) {
  const std::string_view type = file.find_string(kType).value_or("");
  if (type != "imatrix") {
    fail<FormatError>("{}: not an importance matrix: key '{}' must be 'imatrix', got {}",
                      printable_path(file.path()), kType,
                      type.empty() ? "none" : fmt::format("'{}'", printable(type)));
  }
  Imatrix m;
  m.source = file.path();
  m.chunk_count = read_number(file, kChunkCount, 0);
  m.chunk_size = read_number(file, kChunkSize, 1);
  if (const auto datasets = file.find_strings(kDatasets))
    m.datasets.assign(datasets->begin(), datasets->end());
  for (const CheckpointTensor& tensor : file.tensors()) {
    if (!tensor.name.ends_with(kSums) || tensor.name.size() == kSums.size()) continue;
    const std::string_view name = tensor.name.substr(0, tensor.name.size() - kSums.size());
    m.entries.emplace(name, read_entry(file, tensor, name));
  }
  if (m.entries.empty()) {
    fail<FormatError>("{}: an importance matrix without entries: no tensor NAME{}",
                      printable_path(file.path()), kSums);
  }
  return m;
}

// A number that the binary form has as i32.
std::uint64_t read_size(gguf::Cursor& cursor, std::string_view what, std::int32_t min,
                        std::int32_t max = INT32_MAX) {
  const auto value = cursor.read<std::int32_t>(what);
  if (value < min || value > max)
    cursor.fail_here("{} must be from {} to {}, got {}", what, min, max, value);
  return static_cast<std::uint64_t>(value);
}

std::string read_text(gguf::Cursor& cursor, std::uint64_t length, std::string_view what) {
  const auto bytes = cursor.take(length, 1, what);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void read_binary_entry(gguf::Cursor& cursor, Imatrix& m) {
  cursor.set_subject("entry");
  const auto length = read_size(cursor, "length of the name", 1, gguf::kMaxTensorName);
  const std::string name = read_text(cursor, length, "name");
  cursor.set_subject("entry", name);
  const auto n_calls = static_cast<std::int64_t>(read_size(cursor, "number of calls", 0));
  const std::uint64_t n_values = read_size(cursor, "number of values", 1);
  const auto values = cursor.take(n_values, sizeof(float), "values");
  Imatrix::Entry entry{.sums = read_floats(values, kMaxSum, cursor.file(), name),
                       // Files without calls hold the means themselves.
                       .counts = {std::max<std::int64_t>(n_calls, 1)}};
  if (!m.entries.emplace(name, std::move(entry)).second) cursor.fail_here("appears twice");
  cursor.set_subject({});
}

Imatrix parse_binary(std::span<const std::byte> bytes, const std::string& name) {
  gguf::Cursor cursor(bytes, name);
  cursor.set_subject("importance matrix");
  Imatrix m;
  m.source = name;
  const std::uint64_t n_entries = read_size(cursor, "number of entries", 1);
  cursor.require(n_entries, 3 * sizeof(std::int32_t) + 1 + sizeof(float), "entries");
  for (std::uint64_t i = 0; i < n_entries; ++i) read_binary_entry(cursor, m);
  if (cursor.remaining() == 0) return m;
  cursor.set_subject("importance matrix");
  m.chunk_count = static_cast<std::int64_t>(read_size(cursor, "number of chunks", 0));
  const std::uint64_t length = read_size(cursor, "length of the dataset's name", 0);
  if (length > 0) m.datasets.push_back(read_text(cursor, length, "the dataset's name"));
  if (cursor.remaining() > 0) cursor.fail_here("{} bytes follow the end", cursor.remaining());
  return m;
}

template <class T>
std::span<const std::byte> as_bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

// REQUIRES: `counts`, the counts of all entries as floats, outlives the writer.
GgufWriter make_writer(const Imatrix& m, const std::vector<std::vector<float>>& counts) {
  if (m.chunk_size < 1) fail<ValueError>("cannot write an importance matrix of unknown chunk size");
  GgufWriter writer;
  writer.add_string(kType, "imatrix");
  writer.add_strings(kDatasets, m.datasets);
  writer.add_u32(kChunkCount, static_cast<std::uint32_t>(m.chunk_count));
  writer.add_u32(kChunkSize, static_cast<std::uint32_t>(m.chunk_size));
  auto count = counts.begin();
  for (const auto& [name, entry] : m.entries) {
    const auto n = std::ssize(entry.counts);
    writer.add_tensor(name + std::string(kSums), {f32, {n, std::ssize(entry.sums) / n}},
                      as_bytes(entry.sums));
    writer.add_tensor(name + std::string(kCounts), {f32, {n, 1}}, as_bytes(*count++));
  }
  return writer;
}

std::vector<std::vector<float>> float_counts(const Imatrix& m) {
  std::vector<std::vector<float>> all;
  for (const auto& [name, entry] : m.entries)
    all.emplace_back(entry.counts.begin(), entry.counts.end());
  return all;
}

}  // namespace

Imatrix Imatrix::parse(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() >= 4 && std::memcmp(bytes.data(), "GGUF", 4) == 0)
    return parse_gguf(Checkpoint::parse(bytes, name));
  return parse_binary(bytes, name);
}

Imatrix Imatrix::read(const std::string& path) {
  const MappedFile file(path);
  Imatrix imatrix = parse(file.bytes(), path);
  if (file.failed()) refuse_missing_pages(path);
  return imatrix;
}

void Imatrix::write(const std::string& path) const {
  const auto counts = float_counts(*this);
  make_writer(*this, counts).write(path);
}

std::vector<std::byte> Imatrix::to_bytes() const {
  const auto counts = float_counts(*this);
  return make_writer(*this, counts).to_bytes();
}

}  // namespace weft
