#include "embeddings/embedder_session.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/files/weft_keys.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/run/modes.h"

namespace weft::serve {
namespace {

// The most tokens of a text of a causal model, unless the caller names a limit or a context.
constexpr std::int64_t kDefaultTokens = 4096;
// The longest context of a session, unless the caller names one.
constexpr std::int64_t kMaxContext = 131072;

std::int64_t context_of(const Model& model, const SessionOptions& session) {
  const std::int64_t context = model.facts().context;
  return std::min(session.context > 0 ? session.context : kMaxContext, context);
}

// `rows_per_text`: the number of rows that pooling needs of a text; 0: the rows of all its tokens.
SessionOptions session_options(const Model& model, const EmbedderOptions& o,
                               std::size_t rows_per_text) {
  SessionOptions s = o.session;
  const std::int64_t max_tokens = max_tokens_of(model, o);
  s.context = context_of(model, s);
  if (!model.facts().causal && o.max_tokens > 0)
    s.prefill_width = std::max(s.prefill_width, max_tokens);
  // The session refuses other widths.
  const std::int64_t width = std::clamp<std::int64_t>(s.prefill_width, 1, kMaxPrefillWidth);
  const std::int64_t n = std::clamp<std::int64_t>(o.texts_per_step, 1, width);
  s.sequences = static_cast<std::int32_t>(n);
  s.logits_rows = rows_per_text == 0
                      ? s.prefill_width
                      : std::min(width, n * static_cast<std::int64_t>(rows_per_text));
  s.embeddings = true;
  s.draft_layer = false;
  s.rewind = 0;
  // The blocks of the texts of a step, each of which may begin one, and of a text that began
  // earlier.
  const std::int64_t earlier = model.facts().causal ? blocks_for(max_tokens) : 0;
  const std::int64_t blocks = earlier + blocks_for(width) + n;
  s.cells = kCellsPerBlock * std::min(blocks, n * blocks_for(s.context));
  if (!s.cache_k.valid()) s.cache_k = f32;
  if (!s.cache_v.valid()) s.cache_v = f32;
  return s;
}

}  // namespace

const Model& check_embedder(const Model& model) {
  if (model.facts().encodes) require(model, Feature::embeddings);
  return model;
}

std::size_t embedding_width(const Model& model) {
  return static_cast<std::size_t>(model.facts().n_embd);
}

void check_norm(int norm) {
  if (norm < kNotNormalized)
    fail<ValueError>("the norm must be -1 (none), 0 (max) or 1, 2, .. (p-norm), got {}", norm);
}

std::int64_t max_tokens_of(const Model& model, const EmbedderOptions& o) {
  std::int64_t context = context_of(model, o.session);
  if (const auto limit = model.file().find_uint(kMaxTokensKey)) {
    if (*limit == 0) fail<FormatError>("{}: key '{}' is 0", model.file().path(), kMaxTokensKey);
    context = static_cast<std::int64_t>(std::min<std::uint64_t>(*limit, std::uint64_t(context)));
  }
  if (model.facts().causal) {
    if (o.max_tokens > 0) return std::min(context, o.max_tokens);
    return o.session.context > 0 ? context : std::min(context, kDefaultTokens);
  }
  const std::int64_t width = std::max(o.session.prefill_width, o.max_tokens);
  return std::min({context, width, kMaxPrefillWidth});
}

Heads::Heads(const Model& model, const EmbedderOptions& o)
    : pooling(o.pooling ? *o.pooling : file_pooling(check_embedder(model))),
      rows(pooling == Pooling::rank ? Poolings(Pooling::mean) : pooling, embedding_width(model)),
      layers(model, static_cast<std::int64_t>(rows.width())) {
  check_norm(o.norm);
  if (pooling == Pooling::rank) classifier.emplace(check_embedder(model));
  if (classifier) rows = PooledRows(classifier->reads(), embedding_width(model));
}

SessionOptions Heads::session(const Model& model, const EmbedderOptions& o) const {
  SessionOptions s = session_options(check_embedder(model), o, rows.rows_per_text());
  s.reserved += layers.bytes() + (classifier ? classifier->bytes() : 0);
  return s;
}

}  // namespace weft::serve

namespace weft {

SessionOptions embedder_session(const Model& model, const EmbedderOptions& options) {
  return serve::Heads(model, options).session(model, options);
}

}  // namespace weft
