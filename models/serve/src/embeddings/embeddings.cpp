#include "weft/serve/embeddings.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/weft_keys.h"
#include "weft/run/nan_error.h"
#include "weft/tokenize/tokenizer.h"

#include "embeddings/embedder_session.h"

namespace weft {
namespace {

using namespace serve;

double norm_of(std::span<const float> vector, double max, int norm) {
  if (norm == kMaxInt16) return max / 32760;
  double sum = 0;
  for (const float v : vector) sum += std::pow(std::fabs(v) / max, norm);
  return max * std::pow(sum, 1.0 / norm);
}

void check_types(std::span<const TypedTokens> texts) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t n_ids = texts[i].ids.size(), n_types = texts[i].types.size();
    if (n_types == 0 || n_types == n_ids) continue;
    fail<ValueError>("text {} of {} has {} tokens, but {} types (expected as many, or none)", i + 1,
                     texts.size(), n_ids, n_types);
  }
}

}  // namespace

Poolings file_pooling(const Model& model) {
  if (const auto text = model.file().find_string(kPoolingKey)) {
    if (const auto poolings = find_poolings(*text)) return *poolings;
    fail<UnsupportedError>("{}: key '{}': unknown pooling '{}' (known: {}, or several with +)",
                           model.file().path(), kPoolingKey, printable(*text),
                           fmt::join(pooling_names(), ", "));
  }
  const std::string key = model.facts().architecture + ".pooling_type";
  const std::uint64_t type = model.file().find_uint(key).value_or(1);
  if (type > static_cast<std::uint64_t>(Pooling::rank)) {
    std::string known;
    for (const PoolingKind& kind : pooling_kinds())
      if (kind.pooling <= Pooling::rank)
        known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", static_cast<int>(kind.pooling),
                             kind.name);
    fail<UnsupportedError>("{}: key '{}' is {} (known: {})", model.file().path(), key, type, known);
  }
  return static_cast<Pooling>(type);
}

int file_norm(const Model& model) {
  return model.file().find_bool(kNormalizeKey).value_or(true) ? kEuclidean : kNotNormalized;
}

std::size_t ranking_output(const Model& model) {
  return Classifier(check_embedder(model)).relevance(model);
}

void normalize(std::span<float> vector, int norm) {
  check_norm(norm);
  double max = 0;
  for (const float v : vector) max = std::max(max, std::fabs(static_cast<double>(v)));
  if (norm == kNotNormalized || max == 0) return;
  const double divisor = norm_of(vector, max, norm);
  for (float& v : vector) v = static_cast<float>(v / divisor);
}

struct Embedder::Impl : Heads {
  // What a step has of a text.
  struct Part {
    std::size_t text = 0, n_tokens = 0, n_rows = 0;
    std::size_t size = 0;  // tokens of the whole text
    bool ends = false;
  };
  // Views of tokens and, unless all are 0, of their types.
  struct Text {
    std::span<const TokenId> ids;
    std::span<const std::int32_t> types;
  };
  using Texts = std::span<const Text>;

  Impl(std::shared_ptr<const Model> shared, const EmbedderOptions& o)
      : Heads(*shared, o),
        options(o),
        max_tokens(max_tokens_of(*shared, o)),
        closing(tokens_after(shared->vocabulary().forms().single)) {
    const SessionOptions wanted = Heads::session(*shared, o);
    session.emplace(std::move(shared), wanted);
    const SessionOptions& planned = session->options();  // a budget may have made steps narrower
    max_tokens = std::min(max_tokens, planned.context);
    if (!session->model().facts().causal) max_tokens = std::min(max_tokens, planned.prefill_width);
  }

  std::int32_t sequence_of(std::size_t text) const {
    return static_cast<std::int32_t>(text % static_cast<std::size_t>(session->options().sequences));
  }
  // The beginning of a text that is too long, with the special tokens that it ends with.
  TypedTokens shortened(const TypedTokens& text) const;
  void check(Texts texts) const;
  void run(Texts texts, const std::atomic<bool>* cancel, const std::function<void()>& between);
  void fill_step(Texts texts);
  void collect(const Part& part, std::span<const float> part_rows);
  void finish(Embedding& embedding, std::size_t text, const std::atomic<bool>* cancel);
  void clear() {
    for (std::int32_t s = 0; s < session->options().sequences; ++s) session->truncate(s, 0);
  }

  EmbedderOptions options;
  std::int64_t max_tokens;
  const std::vector<TokenId> closing;  // the special tokens after a text
  std::optional<Session> session;
  std::int64_t n_steps = 0;

  // The state of one call of embed().
  std::vector<Embedding> results;
  std::size_t next = 0, n_read = 0;  // the text that is being read, and its tokens read so far
  std::vector<StepToken> step;
  std::vector<Part> parts;
};

TypedTokens Embedder::Impl::shortened(const TypedTokens& text) const {
  TypedTokens cut = text;
  const auto n_kept = std::min(closing.size(), static_cast<std::size_t>(max_tokens));
  const bool closed = text.ids.size() >= closing.size() &&
                      std::equal(closing.rbegin(), closing.rend(), text.ids.rbegin());
  const auto shorten = [&](auto& values) {
    if (values.empty()) return;
    const auto end = values.end() - (closed ? std::ptrdiff_t(n_kept) : 0);
    values.erase(values.begin() + max_tokens - (closed ? std::ptrdiff_t(n_kept) : 0), end);
    values.resize(static_cast<std::size_t>(max_tokens));
  };
  shorten(cut.ids);
  shorten(cut.types);
  return cut;
}

void Embedder::Impl::check(Texts texts) const {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::span<const TokenId> ids = texts[i].ids;
    if (ids.empty()) fail<ValueError>("text {} of {} is empty", i + 1, texts.size());
    if (std::ssize(ids) > max_tokens) {
      fail<ValueError>("text {} of {} has {} tokens, at most {} fit", i + 1, texts.size(),
                       ids.size(), max_tokens);
    }
  }
}

// Adds tokens from the current text on, until the step is full. A text that sees what comes later
// must be in one step.
void Embedder::Impl::fill_step(Texts texts) {
  step.clear();
  parts.clear();
  const SessionOptions& o = session->options();
  std::size_t begin = n_read;
  for (std::size_t i = next; i < texts.size() && std::ssize(parts) < o.sequences; ++i) {
    const Text& text = texts[i];
    const std::size_t size = text.ids.size(), left = size - begin;
    const std::size_t room = static_cast<std::size_t>(o.prefill_width) - step.size();
    if (room == 0 || (left > room && !session->model().facts().causal)) break;
    Part part{.text = i, .n_tokens = std::min(left, room), .size = size, .ends = left <= room};
    for (std::size_t t = begin; t < begin + part.n_tokens; ++t) {
      const bool row = rows.needs(t, size);
      part.n_rows += row;
      step.push_back({.token = text.ids[t],
                      .sequence = sequence_of(i),
                      .logits = row,
                      .type = text.types.empty() ? 0 : text.types[t]});
    }
    parts.push_back(part);
    begin = 0;
  }
}

void Embedder::Impl::collect(const Part& part, std::span<const float> part_rows) {
  const std::size_t width = embedding_width(session->model());
  for (std::size_t t = n_read; t < n_read + part.n_tokens; ++t) {
    if (!rows.needs(t, part.size)) continue;
    rows.add(part_rows.first(width), t, part.size);
    part_rows = part_rows.subspan(width);
  }
}

void Embedder::Impl::finish(Embedding& embedding, std::size_t text,
                            const std::atomic<bool>* cancel) {
  std::vector<float>& values = embedding.values;
  values = rows.take();
  if (classifier)
    values = classifier->scores(values);
  else
    layers.apply(values, cancel);
  const bool finite = std::ranges::all_of(values, [](float v) { return std::isfinite(v); });
  if (!finite) {
    fail<NanError>("{}: the {} of text {} is not finite: weights or file damaged; run weft verify",
                   session->model().file().path(), classifier ? "score" : "embedding", text + 1);
  }
  if (classifier) return;
  const std::size_t width =
      pooling == Pooling::none ? static_cast<std::size_t>(layers.n_out()) : values.size();
  for (std::span<float> rest = values; !rest.empty(); rest = rest.subspan(width))
    normalize(rest.first(width), options.norm);
}

void Embedder::Impl::run(Texts texts, const std::atomic<bool>* cancel,
                         const std::function<void()>& between) {
  results.assign(texts.size(), {});
  next = n_read = 0;
  while (next < texts.size()) {
    fill_step(texts);
    std::span<const float> rest = session->step(step, cancel);
    ++n_steps;
    const std::size_t width = embedding_width(session->model());
    for (const Part& part : parts) {
      const std::size_t n = part.n_rows * width;
      collect(part, rest.first(n));
      rest = rest.subspan(n);
      n_read += part.n_tokens;
      if (!part.ends) continue;
      results[part.text].n_tokens = static_cast<std::int64_t>(n_read);
      finish(results[part.text], part.text, cancel);
      session->truncate(sequence_of(part.text), 0);
      ++next;
      n_read = 0;
    }
    if (between && next < texts.size()) between();
  }
}

Embedder::Embedder(std::shared_ptr<const Model> model, const EmbedderOptions& options)
    : impl_(std::make_unique<Impl>(std::move(model), options)) {}
Embedder::~Embedder() = default;
Embedder::Embedder(Embedder&&) noexcept = default;

std::vector<Embedding> Embedder::embed(std::span<const TypedTokens> texts,
                                       const std::atomic<bool>* cancel,
                                       const std::function<void()>& between) {
  Impl& e = *impl_;
  check_types(texts);
  std::vector<TypedTokens> cut;  // texts that were truncated
  cut.reserve(texts.size());
  std::vector<Impl::Text> all;
  for (const TypedTokens& text : texts) {
    const bool fits = !e.options.truncate || std::ssize(text.ids) <= e.max_tokens;
    const TypedTokens& used = fits ? text : cut.emplace_back(e.shortened(text));
    all.push_back({used.ids, {}});
    if (e.session->model().facts().token_types > 1) all.back().types = used.types;
  }
  e.check(all);
  try {
    e.run(all, cancel, between);
  } catch (...) {
    e.clear();
    throw;
  }
  return std::move(e.results);
}

std::vector<Embedding> Embedder::embed(std::span<const std::string> texts,
                                       const std::atomic<bool>* cancel) {
  std::vector<TypedTokens> tokens;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty()) fail<ValueError>("text {} of {} is empty", i + 1, texts.size());
    tokens.push_back(impl_->session->model().tokenizer().encode_typed(texts[i]));
  }
  return embed(tokens, cancel);
}

void Embedder::set_output(int norm, bool truncate) {
  check_norm(norm);
  impl_->options.norm = norm;
  impl_->options.truncate = truncate;
}

const Poolings& Embedder::pooling() const {
  return impl_->pooling;
}
bool Embedder::truncates() const {
  return impl_->options.truncate;
}
std::int64_t Embedder::max_tokens() const {
  return impl_->max_tokens;
}
std::int64_t Embedder::width() const {
  return impl_->classifier ? impl_->classifier->n_out() : impl_->layers.n_out();
}
std::size_t Embedder::ranking_output() const {
  return impl_->classifier->relevance(impl_->session->model());
}
std::int64_t Embedder::n_steps() const {
  return impl_->n_steps;
}
const Session& Embedder::session() const {
  return *impl_->session;
}

}  // namespace weft
