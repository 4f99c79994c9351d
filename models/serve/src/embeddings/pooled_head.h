#pragma once
// The layers that some models have after pooling. They are small and run once per text, so they are
// computed here from their definitions, outside of the graph, with double accumulators.

#include <atomic>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weft/run/model.h"
#include "weft/serve/embeddings.h"

namespace weft::serve {

// y = activation(W x + b)
struct Dense {
  std::int64_t n_in = 0, n_out = 0;
  std::vector<float> weight;  // [n_out, n_in]
  std::vector<float> bias;    // [n_out]
  double (*activation)(double x) = nullptr;

  std::int64_t bytes() const { return (std::ssize(weight) + std::ssize(bias)) * 4; }
  std::vector<float> operator()(std::span<const float> x) const;
};

// NAME.weight [N, n_in] or, with N = 1, [n_in]; and NAME.bias [N] if the file has it. None if it
// has no NAME.weight. Throws ShapeError, FormatError for integers and for numbers that are not
// finite.
std::optional<Dense> read_dense(const Model& model, std::string_view name, std::int64_t n_in);

// The layers of sentence-transformers that follow pooling: dense_2, dense_3, ... W = n_out().
class DenseLayers {
 public:
  // Throws like read_dense(), and FormatError for activations that do not fit the layers.
  DenseLayers(const Model& model, std::int64_t n_in);
  std::int64_t n_out() const { return n_out_; }
  std::int64_t bytes() const;  // memory that it uses
  // x [rows, n_in] -> [rows, W]. Throws CancelledError, and leaves the rows, if `cancel` becomes
  // true.
  void apply(std::vector<float>& rows, const std::atomic<bool>* cancel = nullptr) const;

 private:
  std::vector<Dense> layers_;
  std::int64_t n_in_, n_out_;
};

// The classifier of rerankers:
//   tanh(cls x), or norm(gelu(cls x)) if the file has cls.norm; then cls.output, if the file has it
// Several scores are probabilities (softmax) if the model is causal, or if the file names them
// (ARCH.classifier.output_labels). GELU is exact if ARCH.classifier.activation, or, without that
// key, ARCH.hidden_activation, says "gelu".
class Classifier {
 public:
  // Throws UnsupportedError if the file has no classifier, or one that has a norm and another
  // activation than GELU; FormatError if it has a norm without the layer that the norm follows, or
  // names another number of outputs; and like read_dense().
  explicit Classifier(const Model& model);
  std::int64_t n_out() const;
  std::int64_t bytes() const;  // memory that it uses
  // What it reads: as ARCH.classifier.reads says; otherwise the mean if it has a norm (ModernBERT),
  // else the last token of a causal model and the first one of others.
  Pooling reads() const { return reads_; }
  // The number of the score that ranks documents: that named "yes", "relevant" or the like; the
  // second of two with other names, the first of two without. Throws UnsupportedError if there are
  // more, none with such a name.
  std::size_t relevance(const Model& model) const;
  std::vector<float> scores(std::span<const float> pooled) const;

 private:
  void read_activation(const Model& model);
  void read_labels(const Model& model);
  void read_pooling(const Model& model);
  float activated(float x) const;

  std::optional<Dense> hidden_, output_;
  std::vector<float> norm_;  // [n_out of hidden_], or empty
  float eps_ = 0;
  bool softmax_ = false, exact_gelu_ = false;
  std::optional<std::size_t> relevance_;
  Pooling reads_ = Pooling::cls;
};

}  // namespace weft::serve
