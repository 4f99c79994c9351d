#include "embeddings/pooled_head.h"

#include <cmath>

#include "weft/arch/dense_names.h"
#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/base/text.h"
#include "weft/files/dense_activations.h"
#include "weft/files/tensor_values.h"
#include "weft/files/weft_keys.h"
#include "weft/ops/elementwise/gelu.h"
#include "weft/ops/elementwise/gelu_erf.h"
#include "weft/ops/formats/format.h"
#include "weft/ops/norms/layer_norm.h"
#include "weft/ops/norms/softmax.h"

namespace weft::serve {
namespace {

// The numbers of a tensor, row by row.
std::vector<float> decoded(const Model& model, const CheckpointTensor& tensor) {
  model.file().require_format(tensor);
  const Format& format = *find_format(tensor.spec.dtype);
  if (format.is_integer) {
    fail<FormatError>("{}: tensor '{}' has type {}, expected floating-point weights",
                      model.file().path(), tensor.name, format.dtype.name());
  }
  check_finite(model.file(), tensor);
  return values_of(tensor);
}

// The dimensions that are not 1, of which there may be none.
std::vector<std::int64_t> squeezed(const Shape& shape) {
  std::vector<std::int64_t> dims;
  for (const Dim& dim : shape) {
    if (dim.bound != 1) dims.push_back(dim.bound);
  }
  return dims;
}

std::vector<float> read_vector(const Model& model, const std::string& name, std::int64_t n) {
  const CheckpointTensor* tensor = model.file().find_tensor(name);
  if (!tensor) return {};
  if (squeezed(tensor->spec.shape) != squeezed(Shape{n})) {
    fail<ShapeError>("{}: tensor '{}' must be {}, got {}", model.file().path(), name,
                     to_string(Shape{n}), to_string(tensor->spec.shape));
  }
  return decoded(model, *tensor);
}

void layer_norm(std::span<float> x, std::span<const float> weight, double eps) {
  const RowMoments m = moments_of(x, eps);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>((x[i] - m.mean) * m.factor * weight[i]);
}

void softmax(std::span<float> x) {
  const ExpSum sum = exp_sum_of(x);
  for (float& v : x) v = static_cast<float>(sum.share_of(v));
}

double (*find_activation(const Model& model, std::string_view name))(double) {
  std::string known;
  for (const DenseActivation& activation : dense_activations()) {
    if (activation.name == name) return activation.apply;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", activation.name);
  }
  fail<UnsupportedError>("{}: key '{}': unknown activation '{}' (known: {})", model.file().path(),
                         kDenseActivationsKey, printable(name), known);
}

}  // namespace

std::vector<float> Dense::operator()(std::span<const float> x) const {
  std::vector<float> y(static_cast<std::size_t>(n_out));
  const float* w = weight.data();
  for (std::size_t i = 0; i < y.size(); ++i, w += n_in) {
    double sum = bias[i];
    for (std::size_t j = 0; j < x.size(); ++j) sum += static_cast<double>(w[j]) * x[j];
    y[i] = static_cast<float>(activation ? activation(sum) : sum);
  }
  return y;
}

std::optional<Dense> read_dense(const Model& model, std::string_view name, std::int64_t n_in) {
  const std::string weight = std::string(name) + ".weight";
  const CheckpointTensor* tensor = model.file().find_tensor(weight);
  if (!tensor) return std::nullopt;
  const Shape& shape = tensor->spec.shape;
  if (shape.n_dims() > 2 || shape.last() != n_in) {
    fail<ShapeError>("{}: tensor '{}' must have rows of {} elements, got {}", model.file().path(),
                     weight, n_in, to_string(shape));
  }
  Dense dense{.n_in = n_in, .n_out = shape.elems() / n_in, .weight = decoded(model, *tensor)};
  dense.bias = read_vector(model, std::string(name) + ".bias", dense.n_out);
  dense.bias.resize(static_cast<std::size_t>(dense.n_out));
  return dense;
}

DenseLayers::DenseLayers(const Model& model, std::int64_t n_in) : n_in_(n_in), n_out_(n_in) {
  for (int i = 0; i < arch::kMaxDense; ++i) {
    std::optional<Dense> layer =
        read_dense(model, fmt::format("dense_{}", arch::kFirstDense + i), n_out_);
    if (!layer) continue;
    n_out_ = layer->n_out;
    layers_.push_back(std::move(*layer));
  }
  const auto names = model.file().find_strings(kDenseActivationsKey);
  if (!names) return;
  if (names->size() != layers_.size()) {
    fail<FormatError>("{}: key '{}' names {} activations, but the file has {} dense layers",
                      model.file().path(), kDenseActivationsKey, names->size(), layers_.size());
  }
  for (std::size_t i = 0; i < layers_.size(); ++i)
    layers_[i].activation = find_activation(model, (*names)[i]);
}

std::int64_t DenseLayers::bytes() const {
  std::int64_t sum = 0;
  for (const Dense& layer : layers_) sum += layer.bytes();
  return sum;
}

void DenseLayers::apply(std::vector<float>& rows, const std::atomic<bool>* cancel) const {
  if (layers_.empty()) return;
  std::vector<float> all;
  for (std::span<const float> rest = rows; !rest.empty();) {
    if (cancel && *cancel) fail<CancelledError>("the embedding was cancelled");
    std::vector<float> row(rest.begin(), rest.begin() + n_in_);
    for (const Dense& layer : layers_) row = layer(row);
    all.insert(all.end(), row.begin(), row.end());
    rest = rest.subspan(static_cast<std::size_t>(n_in_));
  }
  rows = std::move(all);
}

Classifier::Classifier(const Model& model)
    : hidden_(read_dense(model, "cls", model.facts().n_embd)) {
  const std::int64_t width = hidden_ ? hidden_->n_out : model.facts().n_embd;
  const Checkpoint& file = model.file();
  const std::string& arch = model.facts().architecture;
  output_ = read_dense(model, "cls.output", width);
  if (!hidden_ && !output_) {
    fail<UnsupportedError>(
        "{}: the model has no classifier (tensor cls.weight or cls.output.weight), so it cannot "
        "rank",
        model.file().path());
  }
  norm_ = read_vector(model, "cls.norm.weight", width);
  if (!hidden_ && !norm_.empty()) {
    fail<FormatError>("{}: tensor 'cls.norm.weight' needs tensor 'cls.weight', which is missing",
                      model.file().path());
  }
  eps_ = file.find_float(arch + ".attention.layer_norm_epsilon").value_or(1e-5F);
  read_activation(model);
  read_labels(model);
  read_pooling(model);
}

void Classifier::read_activation(const Model& model) {
  const std::string& arch = model.facts().architecture;
  const std::string key = arch + ".classifier.activation";
  const auto name = model.file().find_string(key);
  if (!name) {
    exact_gelu_ = model.file().find_string(arch + ".hidden_activation") == "gelu";
    return;
  }
  exact_gelu_ = *name == "gelu";
  if (norm_.empty() || exact_gelu_ || *name == "gelu_pytorch_tanh") return;
  fail<UnsupportedError>("{}: key '{}' is '{}' (known: gelu, gelu_pytorch_tanh)",
                         model.file().path(), key, printable(*name));
}

// Of two outputs with names that say nothing, the second is the positive class, as usual; without
// names, the first ranks, as in all rerankers that are published so. More are of any kind.
void Classifier::read_labels(const Model& model) {
  constexpr std::string_view kYes[] = {"yes", "true", "relevant", "positive", "entailment"};
  const std::string key = model.facts().architecture + ".classifier.output_labels";
  const auto names = model.file().find_strings(key);
  if (names && std::ssize(*names) != n_out()) {
    fail<FormatError>("{}: key '{}' names {} outputs, the classifier has {}", model.file().path(),
                      key, names->size(), n_out());
  }
  softmax_ = n_out() > 1 && (model.facts().causal || names);
  if (n_out() <= 2) relevance_ = names && n_out() == 2 ? 1 : 0;
  if (!names) return;
  for (std::size_t i = 0; i < names->size(); ++i) {
    if (std::ranges::find(kYes, to_lower((*names)[i])) == std::end(kYes)) continue;
    relevance_ = i;
    return;
  }
}

std::size_t Classifier::relevance(const Model& model) const {
  if (relevance_) return *relevance_;
  fail<UnsupportedError>(
      "{}: none of the classifier's {} outputs is a relevance, so it cannot rank",
      model.file().path(), n_out());
}

void Classifier::read_pooling(const Model& model) {
  const std::string key = model.facts().architecture + ".classifier.reads";
  const auto name = model.file().find_string(key);
  if (!name) {
    reads_ = !norm_.empty() ? Pooling::mean : model.facts().causal ? Pooling::last : Pooling::cls;
    return;
  }
  for (const Pooling pooling : {Pooling::mean, Pooling::cls, Pooling::last}) {
    if (*name != to_string(pooling)) continue;
    reads_ = pooling;
    return;
  }
  fail<UnsupportedError>("{}: key '{}' is '{}' (known: mean, cls, last)", model.file().path(), key,
                         printable(*name));
}

std::int64_t Classifier::n_out() const {
  return output_ ? output_->n_out : hidden_->n_out;
}

std::int64_t Classifier::bytes() const {
  const auto of = [](const std::optional<Dense>& layer) { return layer ? layer->bytes() : 0; };
  return of(hidden_) + of(output_) + std::ssize(norm_) * 4;
}

float Classifier::activated(float x) const {
  if (norm_.empty()) return std::tanh(x);
  return static_cast<float>(exact_gelu_ ? gelu_erf_of(x) : gelu_of(x));
}

std::vector<float> Classifier::scores(std::span<const float> pooled) const {
  std::vector<float> x(pooled.begin(), pooled.end());
  if (hidden_) {
    x = (*hidden_)(x);
    for (float& v : x) v = activated(v);
    if (!norm_.empty()) layer_norm(x, norm_, eps_);
  }
  if (output_) x = (*output_)(x);
  if (softmax_) softmax(x);
  return x;
}

}  // namespace weft::serve
