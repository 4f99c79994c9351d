#include "weft/serve/rerank.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/run/nan_error.h"
#include "weft/tokenize/tokenizer.h"

namespace weft {
namespace {

constexpr std::string_view kTemplateKey = "tokenizer.chat_template.rerank";
constexpr std::string_view kQuery = "{query}", kDocument = "{document}";

// The template with the texts in it.
std::vector<TokenId> fill(const Model& model, std::string_view form, std::string_view query,
                          std::string_view document) {
  std::string text;
  std::vector<TextRange> foreign;
  bool has_query = false, has_document = false;
  while (!form.empty()) {
    const std::size_t at = std::min({form.find(kQuery), form.find(kDocument), form.size()});
    text += form.substr(0, at);
    form.remove_prefix(at);
    if (form.empty()) break;
    const bool is_query = form.starts_with(kQuery);
    (is_query ? has_query : has_document) = true;
    const std::string_view value = is_query ? query : document;
    foreign.push_back({text.size(), text.size() + value.size()});
    text += value;
    form.remove_prefix(is_query ? kQuery.size() : kDocument.size());
  }
  if (!has_query || !has_document) {
    fail<FormatError>("{}: key '{}' must contain {} and {}", model.file().path(), kTemplateKey,
                      kQuery, kDocument);
  }
  return model.tokenizer().encode(
      text, {.add_special = false, .parse_special = true, .foreign = foreign});
}

TypedTokens encode_whole(const Model& model, std::string_view query, std::string_view document) {
  if (const auto form = model.file().find_string(kTemplateKey))
    return fill(model, *form, query, document);
  return model.tokenizer().encode_pair(query, document);
}

// The first `n` bytes, without an incomplete character at the end.
std::string_view first_bytes(std::string_view text, std::size_t n) {
  while (n > 0 && n < text.size() && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) --n;
  return text.substr(0, n);
}

constexpr std::string_view kText = "text ", kScoreOf = ": the score of ";

// "text 2 of 3 ..." -> "document 2 of 3 ...", also after ": the score of ".
std::string of_document(std::string_view message) {
  const std::size_t score = message.find(kScoreOf);
  const std::size_t at = score == message.npos ? 0 : score + kScoreOf.size();
  if (!message.substr(at).starts_with(kText)) return std::string(message);
  return fmt::format("{}document {}", message.substr(0, at), message.substr(at + kText.size()));
}

}  // namespace

TypedTokens encode_pair(const Model& model, std::string_view query, std::string_view document,
                        std::int64_t max_tokens) {
  TypedTokens tokens = encode_whole(model, query, document);
  if (max_tokens == 0 || std::ssize(tokens.ids) <= max_tokens) return tokens;
  // Searches between a beginning of the document that fits and one that is too long. More text
  // may become fewer tokens, so even longer ones may fit.
  tokens = encode_whole(model, query, "");
  if (std::ssize(tokens.ids) > max_tokens) {
    fail<ValueError>("the query alone has {} tokens, at most {} fit", tokens.ids.size(),
                     max_tokens);
  }
  std::size_t fits = 0, too_long = document.size();
  while (too_long - fits > 1) {
    const std::size_t middle = fits + (too_long - fits) / 2;
    TypedTokens cut = encode_whole(model, query, first_bytes(document, middle));
    if (std::ssize(cut.ids) > max_tokens) {
      too_long = middle;
    } else {
      fits = middle;
      tokens = std::move(cut);
    }
  }
  return tokens;
}

std::vector<RankedDocument> rerank(Embedder& embedder, std::span<const TypedTokens> pairs,
                                   std::size_t top_n, const std::atomic<bool>* cancel) {
  if (embedder.pooling() != Pooling::rank)
    fail<ValueError>("ranking needs an embedder with pooling 'rank', not '{}'",
                     to_string(embedder.pooling()));
  const auto scored = reword_errors<ValueError, NanError>(
      of_document, [&] { return embedder.embed(pairs, cancel); });
  const std::size_t output = embedder.ranking_output();
  std::vector<RankedDocument> ranked;
  for (std::size_t i = 0; i < scored.size(); ++i)
    ranked.push_back({i, scored[i].values[output], scored[i].n_tokens});
  std::ranges::stable_sort(ranked, std::ranges::greater(), &RankedDocument::score);
  if (top_n > 0 && top_n < ranked.size()) ranked.resize(top_n);
  return ranked;
}

std::vector<RankedDocument> rerank(Embedder& embedder, std::string_view query,
                                   std::span<const std::string> documents, std::size_t top_n,
                                   const std::atomic<bool>* cancel) {
  if (query.empty()) fail<ValueError>("the query is empty");
  std::vector<TypedTokens> pairs;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (documents[i].empty())
      fail<ValueError>("document {} of {} is empty", i + 1, documents.size());
    pairs.push_back(encode_pair(embedder.session().model(), query, documents[i],
                                embedder.truncates() ? embedder.max_tokens() : 0));
  }
  return rerank(embedder, pairs, top_n, cancel);
}

}  // namespace weft
