#include "weft/files/convert.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"
#include "weft/files/gguf_writer.h"
#include "weft/files/tensor_pages.h"
#include "weft/ops/formats/format.h"

namespace weft {
namespace {

// Values of general.file_type. Source: enum llama_ftype of
// https://github.com/ggml-org/llama.cpp/blob/master/include/llama.h
struct FileType {
  DType type;
  std::uint32_t number;
};
constexpr FileType kFileTypes[] = {{f32, 0}, {f16, 1}, {bf16, 32}};

// Converts the rows of one tensor to the type that they have in the file.
class RowWriter {
 public:
  RowWriter(const Checkpoint& file, const CheckpointTensor& tensor, DType to, bool allow_nonfinite)
      : file_(file),
        tensor_(tensor),
        from_(*find_format(tensor.spec.dtype)),
        to_(*find_format(to)),
        allow_nonfinite_(allow_nonfinite) {}

  // Calls `after` with the bytes of each piece of the tensor in the old type when they are done.
  template <class After>
  void write(const GgufWriter::Put& put, After after) {
    const std::int64_t row_bytes = tensor_.row_bytes();
    const std::int64_t n_rows = tensor_.n_rows();
    const std::int64_t step = std::max<std::int64_t>(1, kPieceBytes / row_bytes);
    for (std::int64_t first = 0; first < n_rows; first += step) {
      const std::int64_t last = std::min(first + step, n_rows);
      rows_.resize(static_cast<std::size_t>((last - first) * row_bytes));
      copy_rows(tensor_, first, last, rows_.data());
      put(convert(first * from_elems(row_bytes)));
      after(std::ssize(rows_));
    }
    for (const RowSource& from : row_sources(tensor_, 0, n_rows)) unmap_source(from);
  }

 private:
  static constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;

  std::int64_t from_elems(std::int64_t n_bytes) const { return n_bytes / from_.dtype.bytes(1); }

  // `first`: index of the piece's first element.
  std::span<const std::byte> convert(std::int64_t first) {
    const std::int64_t n = from_elems(std::ssize(rows_));
    values_.resize(static_cast<std::size_t>(n));
    from_.decode(rows_.data(), values_.data(), n);
    if (!allow_nonfinite_) check_finite(first, "holds", "--allow-nonfinite keeps them");
    if (to_.dtype == from_.dtype) return rows_;
    converted_.resize(static_cast<std::size_t>(to_.dtype.bytes(n)));
    to_.encode(values_.data(), converted_.data(), n);
    if (!allow_nonfinite_ && to_.dtype == f16) {
      to_.decode(converted_.data(), values_.data(), n);
      check_finite(first, "would become", "F16 ends at 65504: take BF16");
    }
    return converted_;
  }

  void check_finite(std::int64_t first, std::string_view what, std::string_view advice) const {
    const auto bad = std::ranges::find_if(values_, [](float v) { return !std::isfinite(v); });
    if (bad == values_.end()) return;
    fail<FormatError>("{}: tensor '{}' {} {} at element {} ({})", printable_path(file_.path()),
                      printable(tensor_.name), what, *bad, first + (bad - values_.begin()), advice);
  }

  const Checkpoint& file_;
  const CheckpointTensor& tensor_;
  const Format &from_, &to_;
  bool allow_nonfinite_;
  std::vector<std::byte> rows_, converted_;
  std::vector<float> values_;
};

DType type_of(const CheckpointTensor& tensor, const ConvertOptions& options) {
  const bool matrix = tensor.spec.shape.n_dims() >= 2;
  return matrix && options.matrices.valid() ? options.matrices : tensor.spec.dtype;
}

// The general.file_type of the type that most bytes have.
std::uint32_t file_type(const Checkpoint& file, const ConvertOptions& options) {
  std::map<std::uint32_t, std::int64_t> bytes;
  for (const CheckpointTensor& tensor : file.tensors()) {
    const auto* type = std::ranges::find(kFileTypes, type_of(tensor, options), &FileType::type);
    bytes[type->number] += type->type.bytes(tensor.spec.shape.elems());
  }
  return std::ranges::max_element(bytes, {}, [](const auto& b) { return b.second; })->first;
}

}  // namespace

void write_gguf(const Checkpoint& file, const std::string& path, const ConvertOptions& options) {
  check_output(file, path);
  if (options.matrices.valid() &&
      std::ranges::find(kFileTypes, options.matrices, &FileType::type) == std::end(kFileTypes))
    fail<ValueError>("matrices can become F32, F16 or BF16, not {}", options.matrices.name());
  std::int64_t total = 0, done = 0;
  for (const CheckpointTensor& tensor : file.tensors()) {
    if (std::ranges::find(kFileTypes, tensor.spec.dtype, &FileType::type) == std::end(kFileTypes)) {
      fail<UnsupportedError>("{}: tensor '{}' is {}, only F32, F16 and BF16 are converted",
                             printable_path(file.path()), printable(tensor.name),
                             tensor.spec.dtype.name());
    }
    total += tensor.n_bytes;
  }
  const auto report = [&](std::int64_t bytes) {
    done += bytes;
    if (options.progress &&
        !options.progress(static_cast<double>(done) / static_cast<double>(total)))
      fail<CancelledError>("the conversion was cancelled");
  };
  GgufWriter writer;
  for (const MetaEntry& entry : file.metadata()) {
    if (entry.key != "general.file_type") writer.add(entry.key, entry.value);
  }
  writer.add_u32("general.file_type", file_type(file, options));
  for (const CheckpointTensor& tensor : file.tensors()) {
    const DType type = type_of(tensor, options);
    writer.add_tensor(std::string(tensor.name), {type, tensor.spec.shape},
                      [&, type](const GgufWriter::Put& put) {
                        RowWriter(file, tensor, type, options.allow_nonfinite).write(put, report);
                      });
  }
  writer.write(path);
}

}  // namespace weft
