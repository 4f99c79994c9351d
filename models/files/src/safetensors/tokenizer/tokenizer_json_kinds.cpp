// The kinds of tokenizers in GGUF files that are nearest to a pipeline.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "weft/base/keyed_hash.h"
#include "weft/tokenize/byte_map.h"

#include "safetensors/tokenizer/added_token_overlaps.h"
#include "safetensors/tokenizer/components.h"
#include "safetensors/tokenizer/split_patterns.h"
#include "safetensors/tokenizer/tokens.h"

namespace weft::safetensors {
namespace {

using Merge = std::pair<std::string, std::string>;

// Either form: "LEFT RIGHT" or ["LEFT", "RIGHT"].
Merge read_merge(const JsonObject& model, const Json& merge) {
  if (merge.is_string()) {
    const auto& text = merge.get_ref<const std::string&>();
    const std::size_t space = text.find(' ', 1);
    if (space != std::string::npos && space + 1 < text.size())
      return {text.substr(0, space), text.substr(space + 1)};
  } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
             merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  fail<FormatError>("{}: '{}' must hold pairs of texts, got {}", printable_path(model.file()),
                    model.name("merges"), printable(merge.dump()));
}

std::vector<Merge> read_merges(const JsonObject& model) {
  const Json* list = model.find("merges");
  if (!list || !list->is_array()) model.mismatch("merges", "an array");
  std::vector<Merge> merges;
  merges.reserve(list->size());
  for (const Json& merge : *list) merges.push_back(read_merge(model, merge));
  return merges;
}

void write_merges(const JsonObject& model, const std::vector<Merge>& merges, MetadataSink& writer) {
  std::vector<std::string> lines;
  for (const auto& [left, right] : merges) {
    if (left.find(' ') != std::string::npos || right.find(' ') != std::string::npos) {
      fail<FormatError>("{}: '{}' merges '{}' and '{}', one of which contains a space",
                        printable_path(model.file()), model.name("merges"), printable(left),
                        printable(right));
    }
    lines.push_back(left + ' ' + right);
  }
  writer.add_strings("tokenizer.ggml.merges", lines);
}

// Merging by scores takes the pair whose merged token has the best score. The merges of a
// SentencePiece model are all pairs of all its tokens in the order of scores, so the rank of a
// token's first merge can replace its score.
void write_scores(const std::vector<Merge>& merges, const Tokens& tokens, MetadataSink& writer) {
  std::vector<float> scores(tokens.size(), 0.0F);
  std::vector<bool> scored(tokens.size());
  std::int32_t rank = 0;
  for (const auto& [left, right] : merges) {
    const auto id = tokens.facts.find(left + right);
    if (!id || scored[*id]) continue;
    scored[*id] = true;
    scores[*id] = static_cast<float>(-++rank);  // exact: vocabularies are smaller than 2^24
  }
  writer.add_f32s("tokenizer.ggml.scores", scores);
}

template <class Step, class Steps>
const Step* find_step(const Steps& steps) {
  for (const auto& step : steps)
    if (const auto* found = std::get_if<Step>(&step)) return found;
  return nullptr;
}

bool is_byte_level(const TokenizerPipeline& pipeline) {
  return pipeline.notation == TokenizerPipeline::Notation::bytes;
}

// The name of the rule that is nearest, and whether it is the pipeline's own.
std::pair<std::string_view, bool> byte_level_name(const JsonObject& json, bool ignore_merges) {
  const std::vector<JsonObject> stages = components(json, kPreTokenizer);
  const std::string_view exact = find_byte_level_name(stages, ignore_merges);
  if (!exact.empty()) return {exact, true};
  const std::string_view nearest = find_byte_level_name(stages, !ignore_merges);
  return {nearest.empty() ? "default" : nearest, false};
}

// Whether words are written in bytes once, after all splits.
bool writes_bytes_last(const TokenizerPipeline& pipeline) {
  const auto is_last = [](const split::Step& step) {
    return std::holds_alternative<split::ByteLevel>(step);
  };
  return std::ranges::count_if(pipeline.splits, is_last) == 1 && is_last(pipeline.splits.back());
}

bool has_all_bytes(const Tokens& tokens) {
  for (int byte = 0; byte < 256; ++byte)
    if (!tokens.facts.find(tokenize::byte_as_text(static_cast<std::uint8_t>(byte)))) return false;
  return true;
}

// The kind "gpt2" ranks tokens by their ids if there are no merges, and merges by their first rank.
bool has_one_rank_each(const std::vector<Merge>& merges) {
  ForeignSet<std::string> seen;
  for (const auto& [left, right] : merges)
    if (!seen.insert(left + ' ' + right).second) return false;
  return !merges.empty();
}

// Whether a space, or what stands for it, is put before a text.
bool has_space_prefix(const TokenizerPipeline& pipeline) {
  if (pipeline.notation == TokenizerPipeline::Notation::words) return true;
  if (find_step<normalize::Prepend>(pipeline.normalizers)) return true;
  const auto* metaspace = find_step<split::Metaspace>(pipeline.splits);
  return metaspace && metaspace->prefix != split::Metaspace::Prefix::never;
}

}  // namespace

bool write_bpe(const JsonObject& json, const JsonObject& model, const TokenizerPipeline& pipeline,
               Tokens& tokens, MetadataSink& writer) {
  const TokenModel& bpe = pipeline.model;
  const std::vector<Merge> merges = read_merges(model);
  write_merges(model, merges, writer);
  if (is_byte_level(pipeline)) {
    const auto [name, exact] = byte_level_name(json, bpe.ignore_merges);
    tokens.set_kind("gpt2", writer);
    writer.add_string("tokenizer.ggml.pre", name);
    return exact && writes_bytes_last(pipeline) && pipeline.normalizers.empty() &&
           !bpe.byte_fallback && bpe.continuing_prefix.empty() && bpe.word_suffix.empty() &&
           has_all_bytes(tokens) && has_one_rank_each(merges) &&
           !order_matters(tokens.added, tokens.texts());
  }
  tokens.set_kind(bpe.byte_fallback ? "llama" : "pipeline", writer);
  writer.add_string("tokenizer.ggml.pre", "default");
  writer.add_bool("tokenizer.ggml.add_space_prefix", has_space_prefix(pipeline));
  write_scores(merges, tokens, writer);
  return false;
}

bool write_unigram(const TokenizerPipeline& pipeline, Tokens& tokens, MetadataSink& writer) {
  bool collapses = find_step<split::WhitespaceOnly>(pipeline.splits) != nullptr;
  for (const normalize::Step& step : pipeline.normalizers) {
    const auto* replace = std::get_if<normalize::Replace>(&step);
    collapses = collapses || (replace && replace->pattern.text == " {2,}");
  }
  tokens.set_kind("t5", writer);
  writer.add_string("tokenizer.ggml.pre", "default");
  writer.add_bool("tokenizer.ggml.add_space_prefix", has_space_prefix(pipeline));
  writer.add_bool("tokenizer.ggml.remove_extra_whitespaces", collapses);
  const auto& scores = pipeline.model.scores;
  std::vector<float> rounded;
  for (const double score : scores) rounded.push_back(static_cast<float>(score));
  writer.add_f32s("tokenizer.ggml.scores", rounded);
  return false;
}

// Tokens that begin a word are written with U+2581, the others without the "##" that they have in
// the file, unless one of the latter would then look like one of the former.
bool write_wordpiece(const JsonObject& model, const TokenizerPipeline& pipeline, Tokens& tokens,
                     MetadataSink& writer) {
  const std::string prefix = model.find_string("continuing_subword_prefix").value_or("##");
  const std::string space(kSpaceSymbol);
  const auto* bert = find_step<normalize::Bert>(pipeline.normalizers);
  const normalize::Bert flags = bert ? *bert : normalize::Bert{};
  const bool ambiguous = std::ranges::any_of(
      tokens.texts(), [&](const std::string& text) { return text.starts_with(prefix + space); });
  tokens.set_kind(ambiguous ? "pipeline" : "bert", writer);
  if (ambiguous) return false;
  writer.add_string("tokenizer.ggml.pre", "default");
  writer.add_bool("tokenizer.ggml.normalizer.lowercase", flags.lowercase);
  writer.add_bool("tokenizer.ggml.normalizer.strip_accents", flags.strip_accents);
  const bool usual = bert && pipeline.normalizers.size() == 1 && flags.clean_text &&
                     flags.space_ideographs && pipeline.splits.size() == 1 &&
                     find_step<split::BertWords>(pipeline.splits) &&
                     pipeline.model.max_word_chars == 100;
  const bool same = usual && !order_matters(tokens.added, tokens.texts()) &&
                    std::ranges::none_of(tokens.added, &AddedToken::normalized);
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (tokens.type(id) != TokenType::normal) continue;
    const std::string& text = tokens.text(id);
    tokens.rewrite(id, text.starts_with(prefix) ? text.substr(prefix.size()) : space + text);
  }
  return same;
}

}  // namespace weft::safetensors
