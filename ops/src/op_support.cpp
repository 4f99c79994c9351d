#include "op_support.h"

#include <algorithm>
#include <utility>

#include "weft/graph/row_layout.h"
#include "weft/ops/attention/cache_cells.h"

namespace weft::ops {

void expect_dtype(std::string_view name, const TensorSpec& spec, DType dtype) {
  if (spec.dtype != dtype) {
    fail<DTypeError>("{} must be {}, got {}", name, dtype.name(), spec.dtype.name());
  }
}

void expect_shape(std::string_view name, const TensorSpec& spec, const Shape& shape) {
  expect_form(spec.shape == shape, name, spec, "{}", to_string(shape));
}

void expect_format(std::string_view name, const TensorSpec& spec) {
  const Format* format = spec.dtype.valid() ? find_format(spec.dtype.plain()) : nullptr;
  if (!format || format->is_integer) {
    fail<DTypeError>("{} must have a type with a codec, got {}", name, spec.dtype.name());
  }
}

void expect_cache(std::string_view name, const TensorSpec& spec) {
  if (std::ranges::find(cache_types(), spec.dtype) == cache_types().end()) {
    fail<DTypeError>("{} must have a cache type ({}), got {}", name, cache_type_names(),
                     spec.dtype.name());
  }
  const Shape& shape = spec.shape;
  const bool is_cache =
      shape.n_dims() == 4 && !shape[0].varies() && shape[2].bound == kCellsPerBlock;
  expect_form(is_cache, name, spec, "[B, G, {}, E]", kCellsPerBlock);
  const std::int64_t block = spec.dtype.block_elems();
  expect_form(shape[3].bound % block == 0, name, spec,
              "[B, G, {}, E] with E a multiple of {} for {}", kCellsPerBlock, block,
              spec.dtype.name());
}

void expect_finite(std::string_view name, double value) {
  if (!std::isfinite(value)) fail<ValueError>("{} must be finite, got {}", name, value);
}

void expect_positive(std::string_view name, double value) {
  if (!(value > 0) || !std::isfinite(value)) {
    fail<ValueError>("{} must be positive and finite, got {}", name, value);
  }
}

Tensor add_node(const OpDef& op, std::span<const Tensor> inputs, Attrs attrs, SourceLine where,
                std::string_view path) {
  for (const Tensor& t : inputs) {
    if (!t) continue;
    if (path.empty() && op.named_after >= 0 && std::cmp_less(op.named_after, inputs.size()))
      path = named_after(inputs[static_cast<std::size_t>(op.named_after)]);
    return path.empty() ? t.graph().add(op, inputs, std::move(attrs), where)
                        : t.graph().add_at(path, op, inputs, std::move(attrs), where);
  }
  fail<ValueError>("{}: none of its inputs belongs to a graph ({})", op.name, to_string(where));
}

std::string_view named_after(Tensor w) {
  constexpr std::string_view kSuffix = ".weight";
  if (!w) return {};
  const Node& node = w.graph()[w.id()];
  const std::string_view path = node.path;
  if (node.kind != NodeKind::weight || !path.ends_with(kSuffix)) return {};
  return path.substr(0, path.size() - kSuffix.size());
}

RowReader::RowReader(const View& view) : view_(view), format_(find_format(view.dtype.plain())) {
  if (view.dtype == f32) return;
  buffer_.resize(static_cast<std::size_t>(view.cols()));
  if (view.dtype.layout())
    plain_row_.resize(static_cast<std::size_t>(view.dtype.bytes(view.cols())));
}

const float* RowReader::operator[](std::int64_t r) {
  if (view_.dtype == f32) return view_.row<const float>(r);
  const std::byte* row = view_.row<const std::byte>(r);
  if (const RowLayout* layout = view_.dtype.layout()) {
    layout->read_row(view_, r, plain_row_.data());
    row = plain_row_.data();
  }
  format_->decode(row, buffer_.data(), view_.cols());
  return buffer_.data();
}

std::vector<float> decode_rows(const View& view) {
  std::vector<float> all;
  all.reserve(static_cast<std::size_t>(view.rows() * view.cols()));
  RowReader rows(view);
  for (std::int64_t r = 0; r < view.rows(); ++r) {
    const float* row = rows[r];
    all.insert(all.end(), row, row + view.cols());
  }
  return all;
}

void exact(const Attrs&, Views, View bounds) {
  for (std::int64_t r = 0; r < bounds.rows(); ++r) {
    std::fill_n(bounds.row<float>(r), bounds.cols(), 0.0f);
  }
}

double silu_of(double x) {
  return x / (1 + std::exp(-x));
}

std::int64_t elems_at(const TensorSpec& spec, const Extents& extents) {
  if (!spec.present()) return 0;
  std::int64_t n = 1;
  for (const Dim& dim : spec.shape) n *= dim.extent(extents);
  return n;
}

std::int64_t bytes_at(const TensorSpec& spec, const Extents& extents) {
  return spec.present() ? spec.dtype.bytes(elems_at(spec, extents)) : 0;
}

std::int64_t last_dimension(const Attrs&, Specs, const TensorSpec& out) {
  return out.shape.last();
}

Cost moves(Specs in, const TensorSpec& out, const Extents& extents, std::int64_t multiply_adds) {
  Cost cost{.bytes_written = bytes_at(out, extents), .multiply_adds = multiply_adds};
  for (const TensorSpec& spec : in) cost.bytes_read += bytes_at(spec, extents);
  return cost;
}

}  // namespace weft::ops
