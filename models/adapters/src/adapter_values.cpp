#include "adapter_values.h"

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/tensor_values.h"
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

void check_values(const Checkpoint& file, const CheckpointTensor& tensor) {
  file.require_format(tensor);
  if (find_format(tensor.spec.dtype)->is_integer)
    fail<UnsupportedError>("{}: tensor '{}' has type {}, which cannot hold weights",
                           printable_path(file.path()), printable(tensor.name),
                           tensor.spec.dtype.name());
  check_finite(file, tensor);
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

}  // namespace weft::adapters
