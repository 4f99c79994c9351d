#include "safetensors/arrange.h"

#include <fmt/format.h>

namespace weft::safetensors {
namespace {

using Stored = arch::HfTensor::Stored;

class Arrangement {
 public:
  Arrangement(const CheckpointTensor& tensor, const Config& config,
              const std::function<void(const std::string&)>& refuse)
      : tensor_(tensor),
        config_(config),
        refuse_(refuse),
        elem_bytes_(tensor.spec.dtype.bytes(1)),
        n_cols_(shape().n_dims() < 2 ? 1 : shape().last()),
        n_rows_(shape().elems() / n_cols_) {}

  Arranged heads(std::uint64_t n_heads) {
    const auto n = static_cast<std::int64_t>(n_heads);
    if (n_rows_ % (2 * n) != 0)
      refuse_(fmt::format("{} rows are not {} heads of an even number of rows", n_rows_, n));
    const std::int64_t E = n_rows_ / n;
    for (std::int64_t h = 0; h < n; ++h) {
      RowRun& run = add(h * E, E);
      run.inner = 2;
      run.outer_stride = row_bytes();
      run.row_stride = E / 2 * row_bytes();
    }
    return {shape(), std::move(runs_)};
  }

  Arranged transposed() {
    if (shape().n_dims() < 2) return {shape(), {}};
    require_matrix();
    add_columns(0);
    return {{n_cols_, n_rows_}, std::move(runs_)};
  }

  Arranged qkv_by_group() {
    const auto H = static_cast<std::int64_t>(config_.n_heads);
    const auto G = static_cast<std::int64_t>(config_.n_kv_heads);
    if (H % G != 0 || n_rows_ % (H + 2 * G) != 0)
      refuse_(fmt::format("{} rows are not {} query heads and {} heads for keys and for values",
                          n_rows_, H, G));
    const std::int64_t E = n_rows_ / (H + 2 * G), group = (H / G + 2) * E;
    for (std::int64_t g = 0; g < G; ++g) add(g * group, group - 2 * E);
    for (std::int64_t g = 0; g < G; ++g) add((g + 1) * group - 2 * E, E);
    for (std::int64_t g = 0; g < G; ++g) add((g + 1) * group - E, E);
    return {shape(), std::move(runs_)};
  }

  Arranged positions(std::int64_t offset) {
    require_matrix();
    if (n_rows_ <= offset)
      refuse_(fmt::format("has {} rows, of which the first {} are padding", n_rows_, offset));
    add(offset, n_rows_ - offset);
    return {{n_rows_ - offset, n_cols_}, std::move(runs_)};
  }

  Arranged as_vector() {
    if (n_rows_ != 1 && n_cols_ != 1)
      refuse_(fmt::format("must be a vector or a matrix of one row, got {}", to_string(shape())));
    return {{shape().elems()}, {}};
  }

  Arranged latent(bool keys) {
    const auto H = static_cast<std::int64_t>(config_.n_heads);
    const auto E = static_cast<std::int64_t>(config_.latent_E);
    const auto Ev = static_cast<std::int64_t>(config_.latent_Ev);
    require_matrix();
    if (E < 1 || Ev < 1 || n_rows_ % (E + Ev) != 0 || n_rows_ / (E + Ev) != H)
      refuse_(fmt::format("{} rows are not {} heads of {} and {} rows", n_rows_, H, E, Ev));
    for (std::int64_t h = 0; h < H; ++h) {
      if (keys) {
        add_columns(h * (E + Ev));
      } else {
        add(h * (E + Ev) + E, Ev);
      }
    }
    return {keys ? Shape{H, n_cols_, E} : Shape{H, Ev, n_cols_}, std::move(runs_)};
  }

  Arranged half(bool second) {
    const std::size_t n_dims = shape().n_dims();
    if (n_dims != 2 && n_dims != 3)
      refuse_(fmt::format("must be matrices, got {}", to_string(shape())));
    const std::int64_t both = shape()[-2].bound;
    if (both % 2 != 0) refuse_(fmt::format("{} rows are not two halves", both));
    const std::int64_t n = both / 2;
    for (std::int64_t row = second ? n : 0; row < n_rows_; row += both) add(row, n);
    return {n_dims == 2 ? Shape{n, n_cols_} : Shape{shape()[0].bound, n, n_cols_},
            std::move(runs_)};
  }

 private:
  const Shape& shape() const { return tensor_.spec.shape; }
  std::int64_t row_bytes() const { return n_cols_ * elem_bytes_; }
  void require_matrix() const {
    if (shape().n_dims() != 2) refuse_(fmt::format("must be a matrix, got {}", to_string(shape())));
  }

  // Stored rows, one after the other.
  RowRun& add(std::int64_t stored_row, std::int64_t n) {
    const std::int64_t offset = stored_row * row_bytes();
    runs_.push_back({.data = tensor_.data + offset,
                     .first = n_done_,
                     .n_rows = n,
                     .row_stride = row_bytes(),
                     .inner = n,
                     .part = tensor_.part,
                     .file_offset = tensor_.file_offset + static_cast<std::uint64_t>(offset)});
    n_done_ += n;
    return runs_.back();
  }
  // The columns below a stored row, which become rows.
  void add_columns(std::int64_t stored_row) {
    RowRun& run = add(stored_row, n_cols_);
    run.row_stride = elem_bytes_;
    run.elem_stride = row_bytes();
  }

  const CheckpointTensor& tensor_;
  const Config& config_;
  const std::function<void(const std::string&)>& refuse_;
  std::int64_t elem_bytes_, n_cols_, n_rows_, n_done_ = 0;
  std::vector<RowRun> runs_;
};

}  // namespace

Arranged arrange(const CheckpointTensor& tensor, Stored stored, const Config& config,
                 const std::function<void(const std::string&)>& refuse) {
  Arrangement a(tensor, config, refuse);
  const bool paired = config.architecture->hugging_face.paired_rows;
  switch (stored) {
    case Stored::query_heads:
      if (paired) return a.heads(config.n_heads);
      break;
    case Stored::key_heads:
      if (paired) return a.heads(config.n_kv_heads);
      break;
    case Stored::transposed:
      return a.transposed();
    case Stored::qkv_by_group:
      return a.qkv_by_group();
    case Stored::as_matrix:
      return a.as_vector();
    case Stored::latent_keys:
      return a.latent(true);
    case Stored::latent_values:
      return a.latent(false);
    case Stored::gate_half:
      return a.half(false);
    case Stored::up_half:
      return a.half(true);
    case Stored::positions:
      if (config.position_offset == 0) break;
      return a.positions(static_cast<std::int64_t>(config.position_offset));
    case Stored::less_one:
      return {tensor.spec.shape, {}, true};
    case Stored::as_is:
      break;
  }
  return {tensor.spec.shape, {}};
}

}  // namespace weft::safetensors
