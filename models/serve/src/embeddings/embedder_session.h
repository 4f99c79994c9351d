#pragma once
// What an embedder needs beside its session, and the options of that session.

#include <optional>

#include "weft/serve/embeddings.h"

#include "embeddings/pooled_head.h"
#include "embeddings/pooled_rows.h"

namespace weft::serve {

std::size_t embedding_width(const Model& model);
// The model. Throws UnsupportedError if it has an encoder and a decoder.
const Model& check_embedder(const Model& model);
void check_norm(int norm);  // throws ValueError
// The most tokens of a text, before the session's budget may lower them.
std::int64_t max_tokens_of(const Model& model, const EmbedderOptions& o);

// What is computed of the rows of a text.
struct Heads {
  Heads(const Model& model, const EmbedderOptions& o);
  // The options of the session, with room for these.
  SessionOptions session(const Model& model, const EmbedderOptions& o) const;

  const Poolings pooling;
  PooledRows rows;  // what is pooled of the text that is being read
  const DenseLayers layers;
  std::optional<Classifier> classifier;
};

}  // namespace weft::serve
