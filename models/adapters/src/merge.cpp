#include "weft/adapters/merge.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "weft/adapters/lora.h"
#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/gguf_writer.h"
#include "weft/files/tensor_pages.h"
#include "weft/files/tensor_values.h"
#include "weft/ops/formats/format.h"

#include "adapter_values.h"

namespace weft {
namespace {

using namespace adapters;

constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;

struct ScaledLora {
  Lora lora;
  float scale;
};

// The product that one LoRA adds to a tensor, in f32.
class Product {
 public:
  Product(const LowRank& low, float scale)
      : rank_(low.rank), scale_(scale * low.factor), u_(values_of(*low.u.tensor)) {
    if (low.v.tensor) {
      n_cols_ = low.v.shape.last();
      v_ = values_of(*low.v.tensor);
    } else {
      n_cols_ = low.v_transposed.shape[0].bound;
      v_ = transposed(values_of(*low.v_transposed.tensor), n_cols_, rank_);
    }
    const Shape& u = low.u.shape;
    rows_of_matrix_ = u[-2].bound;
  }

  // Adds row `row` of the product to `sums`; experts follow each other.
  void add_row(std::int64_t row, std::vector<double>& sums) const {
    const std::int64_t matrix = row / rows_of_matrix_;
    for (std::int64_t r = 0; r < rank_; ++r) {
      const double factor = static_cast<double>(scale_) * u_[index(row * rank_ + r)];
      const float* const v = v_.data() + (matrix * rank_ + r) * n_cols_;
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += factor * v[c];
    }
  }

 private:
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

  std::int64_t rank_, n_cols_ = 0, rows_of_matrix_ = 1;
  float scale_;
  std::vector<float> u_, v_;
};

// Writes the rows of one tensor with the products added.
class MergedTensor {
 public:
  MergedTensor(const Checkpoint& model, const CheckpointTensor& tensor,
               const std::vector<ScaledLora>& loras)
      : model_(model), tensor_(tensor), format_(*find_format(tensor.spec.dtype)) {
    for (const ScaledLora& l : loras) {
      const auto low = l.lora.weights().find(tensor.name);
      if (low != l.lora.weights().end()) products_.emplace_back(low->second, l.scale);
    }
  }

  // The bytes of row `row`, given its bytes in the model.
  void merge(std::int64_t row, std::span<std::byte> bytes) {
    const auto n = static_cast<std::size_t>(tensor_.spec.shape.last());
    values_.resize(n);
    format_.decode(bytes.data(), values_.data(), std::ssize(values_));
    sums_.assign(values_.begin(), values_.end());
    for (const Product& product : products_) product.add_row(row, sums_);
    std::ranges::transform(sums_, values_.begin(), [](double v) { return static_cast<float>(v); });
    check_finite(row);
    format_.encode(values_.data(), bytes.data(), std::ssize(values_));
    format_.decode(bytes.data(), values_.data(), std::ssize(values_));
    check_finite(row);
  }

 private:
  void check_finite(std::int64_t row) const {
    const auto bad = std::ranges::find_if(values_, [](float v) { return !std::isfinite(v); });
    if (bad == values_.end()) return;
    fail<FormatError>("{}: tensor '{}' would hold {} as {} (row {}, column {}) when merged",
                      printable_path(model_.path()), printable(tensor_.name), *bad,
                      tensor_.spec.dtype.name(), row, bad - values_.begin());
  }

  const Checkpoint& model_;
  const CheckpointTensor& tensor_;
  const Format& format_;
  std::vector<Product> products_;
  std::vector<float> values_;
  std::vector<double> sums_;
};

// Calls `put` with the tensor's bytes in pieces of whole rows, after `change(first row, bytes)`.
template <class Change, class Done>
void put_rows(const CheckpointTensor& tensor, const GgufWriter::Put& put, Change change,
              Done done) {
  const std::int64_t row_bytes = tensor.row_bytes(), n_rows = tensor.n_rows();
  const std::int64_t step = std::max<std::int64_t>(1, kPieceBytes / row_bytes);
  std::vector<std::byte> bytes;
  for (std::int64_t first = 0; first < n_rows; first += step) {
    const std::int64_t last = std::min(first + step, n_rows);
    bytes.resize(static_cast<std::size_t>((last - first) * row_bytes));
    copy_rows(tensor, first, last, bytes.data());
    for (std::int64_t r = first; r < last; ++r)
      change(r, std::span(bytes).subspan(static_cast<std::size_t>((r - first) * row_bytes),
                                         static_cast<std::size_t>(row_bytes)));
    put(bytes);
    done(std::ssize(bytes));
  }
  for (const RowSource& source : row_sources(tensor, 0, n_rows)) unmap_source(source);
}

std::vector<ScaledLora> open_all(const Checkpoint& model, std::span<const LoraFile> files) {
  std::vector<ScaledLora> loras;
  for (const LoraFile& file : files) {
    check_scale(file.path, file.scale);
    loras.push_back({Lora::open(file.path, model), file.scale});
  }
  return loras;
}

void check_writable(const Checkpoint& model, const CheckpointTensor& tensor) {
  model.require_format(tensor);
  if (find_format(tensor.spec.dtype)->encode) return;
  fail<UnsupportedError>("{}: cannot merge into tensor '{}': {} cannot be written",
                         printable_path(model.path()), printable(tensor.name),
                         tensor.spec.dtype.name());
}

}  // namespace

void write_merged(const Checkpoint& model, std::span<const LoraFile> files, const std::string& path,
                  const std::function<bool(double)>& progress) {
  check_output(model, path);
  const std::vector<ScaledLora> loras = open_all(model, files);
  for (const ScaledLora& l : loras) check_output(l.lora.file(), path);
  GgufWriter writer(model.alignment());
  for (const MetaEntry& entry : model.metadata())
    if (!is_layout_key(entry.key)) writer.add(entry.key, entry.value);
  std::int64_t total = 1, done = 0;
  const auto report = [&](std::int64_t n_bytes) {
    done += n_bytes;
    if (progress && !progress(static_cast<double>(done) / static_cast<double>(total)))
      fail<CancelledError>("merging was cancelled");
  };
  for (const CheckpointTensor& tensor : model.tensors()) {
    total += tensor.n_bytes;
    const bool adapted = std::ranges::any_of(
        loras, [&](const ScaledLora& l) { return l.lora.weights().contains(tensor.name); });
    if (adapted) check_writable(model, tensor);
    writer.add_tensor(
        std::string(tensor.name), tensor.spec, [&, adapted](const GgufWriter::Put& put) {
          if (!adapted)
            return put_rows(
                tensor, put, [](auto, auto) {}, report);
          MergedTensor merged(model, tensor, loras);
          put_rows(
              tensor, put, [&](std::int64_t r, std::span<std::byte> b) { merged.merge(r, b); },
              report);
        });
  }
  writer.write(path);
}

}  // namespace weft
