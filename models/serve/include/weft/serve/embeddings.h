#pragma once
// Embeddings: texts as vectors, pooled from the model's last hidden states.
//
//   weft::Embedder embedder(model, {});
//   const std::vector<weft::Embedding> all = embedder.embed(texts);  // token ids of each text
//
// Texts are computed together: a step of the session holds as many whole texts as fit, and the
// beginning of the next one if the model is causal. The numbers of a text are the same bits
// whatever other texts are computed with it.
//
// One thread at a time per embedder, except for the flag that cancels.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/files/pooling.h"
#include "weft/run/session.h"
#include "weft/tokenize/tokenizer.h"

namespace weft {

// The pooling that the file asks for (kPoolingKey, else ARCH.pooling_type); the mean if it does not
// say. Throws UnsupportedError for other names and numbers.
Poolings file_pooling(const Model& model);

// The norm that the file asks for: kNotNormalized if kNormalizeKey is false, as convert writes it
// for sentence-transformers without a module Normalize; otherwise kEuclidean.
int file_norm(const Model& model);

// The number of the classifier's output that ranks documents. Throws UnsupportedError unless the
// model has a classifier, which Pooling::rank needs, with such an output.
std::size_t ranking_output(const Model& model);

// Scales a vector so that its norm is 1: kEuclidean, or the p-norm for any p >= 1. kNotNormalized
// leaves it as it is, kMaxInt16 makes the largest magnitude 32760. A vector of zeros stays as it
// is. Throws ValueError for other norms (below -1).
inline constexpr int kNotNormalized = -1, kMaxInt16 = 0, kEuclidean = 2;
void normalize(std::span<float> vector, int norm);

struct EmbedderOptions {
  std::optional<Poolings> pooling = {};  // default: file_pooling()
  // The norm of each vector, as normalize() takes it; scores have none. What the
  // file asks for is not the default: it is file_norm().
  int norm = kEuclidean;
  bool truncate = false;  // cut texts that are too long instead of refusing them
  // The longest text that must fit, in tokens; longer ones may be refused. 0: as many as
  // session.context; if that is 0 too, the model's context, but at most 4096. Never more than
  // kMaxTokensKey of the file. If the model is not
  // causal, a text is also limited by a step: session.prefill_width for 0, and kMaxPrefillWidth for
  // all. Memory grows with it. If session.mem_budget makes steps narrower, fewer fit: see
  // Embedder::max_tokens().
  std::int64_t max_tokens = 0;
  std::int32_t texts_per_step = 32;  // max texts that are computed together
  // `embeddings`, `sequences`, `cells` and `logits_rows` are set by the embedder. The context is
  // never longer than the model's. Caches are F32 unless they are given. If the model is not
  // causal, steps are wide enough for a text of max_tokens.
  SessionOptions session = {};
};

struct Embedding {
  std::vector<float> values;  // [W], or [n_tokens, W] with Pooling::none
  std::int64_t n_tokens = 0;  // that were read
};

// The options of the session that an embedder opens. Throws like Embedder.
SessionOptions embedder_session(const Model& model, const EmbedderOptions& options);

class Embedder {
 public:
  // Throws UnsupportedError for models of an encoder and a decoder, and for Pooling::rank if the
  // model has no classifier; ValueError for a norm that normalize() refuses, ShapeError and
  // FormatError for wrong layers after pooling, and like Session.
  Embedder(std::shared_ptr<const Model> model, const EmbedderOptions& options);
  ~Embedder();
  Embedder(Embedder&&) noexcept;

  // The embeddings of texts, in their order. Throws ValueError "text 2 of 3 ..." for a text that
  // has no tokens, too many (unless options.truncate), or another number of types than of tokens,
  // CancelledError if `cancel` becomes true, NanError if numbers are not finite, and like
  // Session::step(). The embedder can be used again after an exception. `between` is called between
  // the steps, if there are several; it may throw, too. Types of tokens have no effect on a model
  // without a table of them.
  std::vector<Embedding> embed(std::span<const TypedTokens> texts,
                               const std::atomic<bool>* cancel = nullptr,
                               const std::function<void()>& between = {});
  // Likewise of texts as they are written, with the tokens that the vocabulary adds. An empty text
  // is refused. Throws UnsupportedError if the model has no tokenizer.
  std::vector<Embedding> embed(std::span<const std::string> texts,
                               const std::atomic<bool>* cancel = nullptr);

  // Changes these options for further texts. Throws ValueError for a norm that normalize() refuses.
  void set_output(int norm, bool truncate);

  const Poolings& pooling() const;
  bool truncates() const;           // EmbedderOptions::truncate
  std::int64_t max_tokens() const;  // per text; longer ones are refused or cut
  std::int64_t width() const;       // W
  // The number of the value that ranks documents. REQUIRES: pooling() is Pooling::rank.
  std::size_t ranking_output() const;
  std::int64_t n_steps() const;  // that were computed so far
  const Session& session() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
