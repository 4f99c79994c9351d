#include "adapter_values.h"

#include <algorithm>
#include <cmath>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/ops/formats/format.h"

namespace weft::adapters {

Checkpoint open_adapter(const std::string& path) {
  Checkpoint file = Checkpoint::open(path);
  if (file.is_directory())
    fail<FormatError>("{}: not an adapter: a directory, expected a GGUF file",
                      printable_path(path));
  return file;
}

void expect_text(const Checkpoint& file, std::string_view key, std::string_view value,
                 std::string_view what) {
  const auto found = file.find_string(key);
  if (found == value) return;
  fail<FormatError>("{}: not {}: key '{}' must be '{}', {}", printable_path(file.path()), what, key,
                    printable(value),
                    found ? fmt::format("got '{}'", printable(*found)) : "it is missing");
}

namespace {

// Calls f(values, first) for pieces of the tensor; `first` is the index of the first value.
template <class F>
void for_each_piece(const CheckpointTensor& tensor, F f) {
  const Format& format = *find_format(tensor.spec.dtype);
  const std::int64_t n = tensor.spec.shape.elems();
  const std::int64_t step = std::int64_t{4096} * format.dtype.block_elems();
  std::vector<float> values(static_cast<std::size_t>(std::min(step, n)));
  for (std::int64_t first = 0; first < n; first += step) {
    const std::int64_t count = std::min(step, n - first);
    format.decode(tensor.data + format.dtype.bytes(first), values.data(), count);
    f(std::span<const float>(values).first(static_cast<std::size_t>(count)), first);
  }
}

}  // namespace

void check_values(const Checkpoint& file, const CheckpointTensor& tensor) {
  file.require_format(tensor);
  if (find_format(tensor.spec.dtype)->is_integer)
    fail<UnsupportedError>("{}: tensor '{}' has type {}, which cannot hold weights",
                           printable_path(file.path()), printable(tensor.name),
                           tensor.spec.dtype.name());
  for_each_piece(tensor, [&](std::span<const float> values, std::int64_t first) {
    const auto bad = std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
    if (bad == values.end()) return;
    fail<FormatError>("{}: tensor '{}' holds {} at element {}: the file is damaged",
                      printable_path(file.path()), printable(tensor.name), *bad,
                      first + (bad - values.begin()));
  });
}

std::vector<float> values_of(const CheckpointTensor& tensor) {
  std::vector<float> all;
  all.reserve(static_cast<std::size_t>(tensor.spec.shape.elems()));
  for_each_piece(tensor, [&](std::span<const float> values, std::int64_t) {
    all.insert(all.end(), values.begin(), values.end());
  });
  return all;
}

std::vector<float> transposed(const std::vector<float>& values, std::int64_t rows,
                              std::int64_t cols) {
  std::vector<float> out(values.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c)
      out[static_cast<std::size_t>(c * rows + r)] = values[static_cast<std::size_t>(r * cols + c)];
  }
  return out;
}

std::string short_name(std::size_t i) {
  return fmt::format("{}", i);
}

}  // namespace weft::adapters
