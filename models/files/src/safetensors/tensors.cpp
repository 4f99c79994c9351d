#include "safetensors/tensors.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/ops/formats/format.h"

namespace weft::safetensors {
namespace {

constexpr std::int64_t kMaxVector = std::int64_t{1} << 24;  // elements of norms and biases

}  // namespace

template <class E, class... Args>
void Tensors::refuse(const Piece& piece, fmt::format_string<Args...> text, Args&&... args) const {
  throw E(fmt::format("{}: tensor '{}': ", printable_path(shards_[piece.shard].path),
                      printable(piece.stored->name)) +
          fmt::format(text, std::forward<Args>(args)...));
}

void Tensors::add_all() {
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    for (const StoredTensor& stored : shards_[i].tensors) add({&stored, i});
  }
  for (const auto& [name, experts] : experts_) add_experts(name, experts);
  std::ranges::sort(matrices_, {}, [&](const CheckpointTensor& t) {
    return std::tuple(order_.find(t.name)->second, t.name);
  });
}

void Tensors::add(const Piece& piece) {
  const arch::HuggingFace& tables = config_.architecture->hugging_face;
  const std::vector<TensorRole> roles = find_roles(tables, piece.stored->name);
  if (roles.empty()) {
    if (config_.other_parts && is_of_other_part(tables, piece.stored->name)) return;
    refuse(piece, "models of type '{}' have no such tensor", config_.type);
  }
  for (const TensorRole& role : roles) add(piece, role);
}

void Tensors::add(const Piece& piece, const TensorRole& role) {
  if (role.name.empty()) return;
  // The layers before a classifier are of no use without its last one. RoBERTa's classifier does
  // not read the pooler, which old checkpoints have beside it.
  const bool of_pooler = piece.stored->name.find("pooler.dense.") != std::string::npos;
  if (role.name.starts_with("cls.") &&
      (!config_.classifies || (of_pooler && config_.position_offset > 0)))
    return;
  if (config_.tied && role.name == "output.weight") return;
  if (config_.next_tokens && role.layer >= static_cast<std::int64_t>(config_.n_layers)) return;
  const bool is_new = role.expert < 0 ? names_.insert(role.name).second
                                      : experts_[role.name].emplace(role.expert, piece).second;
  if (!is_new) refuse(piece, "exists under two names");
  order_.emplace(role.name, role.order);
  const CheckpointTensor tensor = stored_tensor(piece);
  if (role.expert >= 0) return;
  const Arranged arranged = arrange(tensor, role.stored, config_,
                                    [&](const std::string& text) { refuse(piece, "{}", text); });
  if (arranged.less_one && arranged.shape.n_dims() != 1)
    refuse(piece, "must be a vector, got {}", to_string(arranged.shape));
  const bool aligned =
      tensor.file_offset % static_cast<std::uint64_t>(tensor.spec.dtype.block_bytes()) == 0;
  const bool as_stored = aligned && arranged.runs.empty() && !arranged.less_one;
  if (arranged.shape.n_dims() == 1 && !(tensor.spec.dtype == f32 && as_stored)) {
    builder_.add_floats(role.name, floats_of(piece, tensor, arranged));
    return;
  }
  CheckpointTensor placed = tensor;
  placed.spec.shape = arranged.shape;
  placed.n_bytes = placed.spec.dtype.bytes(arranged.shape.elems());
  if (aligned || !arranged.runs.empty()) return place(role, placed, arranged.runs);
  place(role, placed, {files::whole_run(placed, 0)});  // copied, which need not be aligned
}

// The matrices of all experts as one tensor.
void Tensors::add_experts(const std::string& name, const std::map<std::int64_t, Piece>& experts) {
  const Piece& first = experts.begin()->second;
  const CheckpointTensor model = stored_tensor(first);
  if (model.spec.shape.n_dims() != 2)
    refuse(first, "must be a matrix, got {}", to_string(model.spec.shape));
  std::vector<RowRun> runs;
  for (const auto& [number, piece] : experts) {
    const CheckpointTensor tensor = stored_tensor(piece);
    const auto n = std::ssize(runs);
    if (number != n) refuse(piece, "is of expert {}, but that of expert {} is missing", number, n);
    if (tensor.spec != model.spec)
      refuse(piece, "is {}, that of expert 0 {}", to_string(tensor.spec), to_string(model.spec));
    runs.push_back(files::whole_run(tensor, n * tensor.n_rows()));
  }
  const auto n = std::ssize(runs);
  if (config_.n_experts > 0 && static_cast<std::uint64_t>(n) != config_.n_experts)
    refuse(experts.rbegin()->second, "is of the last expert, config.json says that there are {}",
           config_.n_experts);
  CheckpointTensor all = model;
  all.spec.shape = {n, model.spec.shape[0], model.spec.shape[1]};
  all.n_bytes = n * model.n_bytes;
  names_.insert(name);
  place({.name = name}, all, std::move(runs));
}

void Tensors::add_rows(const std::string& name, std::string_view from,
                       std::span<const std::int64_t> rows) {
  const auto source = std::ranges::find(matrices_, from, &CheckpointTensor::name);
  if (source == matrices_.end() || !names_.insert(name).second) return;
  CheckpointTensor chosen = *source;
  const RowRun all = chosen.runs.empty() ? files::whole_run(chosen, 0) : chosen.runs[0];
  std::vector<RowRun> runs;
  for (const std::int64_t row : rows) {
    RowRun run = all;
    run.first = std::ssize(runs);
    run.n_rows = run.inner = 1;
    run.data += row * all.row_stride;
    run.file_offset += static_cast<std::uint64_t>(row * all.row_stride);
    runs.push_back(run);
  }
  chosen.spec.shape = {std::ssize(rows), chosen.spec.shape.last()};
  chosen.n_bytes = chosen.spec.dtype.bytes(chosen.spec.shape.elems());
  place({.name = name}, chosen, std::move(runs));
}

void Tensors::place(const TensorRole& role, CheckpointTensor tensor, std::vector<RowRun> runs) {
  tensor.name = builder_.keep(role.name);
  if (!runs.empty()) {
    tensor.data = nullptr;
    tensor.runs = runs_->emplace_back(std::move(runs));
  }
  matrices_.push_back(tensor);
}

CheckpointTensor Tensors::stored_tensor(const Piece& piece) const {
  const StoredTensor& stored = *piece.stored;
  if (!stored.type.valid()) {
    refuse<UnsupportedError>(piece, "dtype {} is not supported (supported: F32, F16, BF16)",
                             stored.type_name);
  }
  if (stored.shape.size() > kMaxDims)
    refuse(piece, "has {} dimensions, at most {} are supported", stored.shape.size(), kMaxDims);
  std::array<Dim, kMaxDims> dims{1};  // a tensor without dimensions is one element
  for (std::size_t i = 0; i < stored.shape.size(); ++i) {
    if (stored.shape[i] == 0) refuse(piece, "dimension {} is 0", i);
    dims[i] = stored.shape[i];
  }
  const std::size_t rank = std::max<std::size_t>(stored.shape.size(), 1);
  const auto shape = Shape(std::span(dims).first(rank));
  return {.spec = {stored.type, shape},
          .data = shards_[piece.shard].map.bytes().data() + stored.offset,
          .n_bytes = static_cast<std::int64_t>(stored.n_bytes),
          .part = static_cast<std::int32_t>(piece.shard + 1),
          .file_offset = stored.offset};
}

std::vector<float> Tensors::floats_of(const Piece& piece, const CheckpointTensor& tensor,
                                      const Arranged& arranged) const {
  const std::int64_t n = arranged.shape.last();
  if (n > kMaxVector) refuse(piece, "has {} elements, at most {} are supported", n, kMaxVector);
  CheckpointTensor rows = tensor;
  rows.spec.shape = {n, 1};
  rows.runs = arranged.runs;
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.n_bytes));
  copy_rows(rows, 0, n, bytes.data());
  std::vector<float> values(static_cast<std::size_t>(n));
  find_format(tensor.spec.dtype)->decode(bytes.data(), values.data(), n);
  if (arranged.less_one) {
    for (float& value : values) value += 1;
  }
  return values;
}

}  // namespace weft::safetensors
