#include "safetensors/tokenizer/tokenizer_json.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"
#include "weft/tokenize/vocabulary.h"

#include "safetensors/tokenizer/post_processor.h"
#include "safetensors/tokenizer/split_patterns.h"
#include "safetensors/tokenizer/tokens.h"

namespace weft::safetensors {

void unsupported(const JsonObject& json, std::string_view key, const Json* value) {
  fail<UnsupportedError>("{}: '{}' is {}, which is not supported", printable_path(json.file()),
                         json.name(key), value ? printable(value->dump(), 300) : "absent");
}

// The objects of a stage of the pipeline: those of its list, if it is a sequence, or itself.
std::vector<JsonObject> stages_of(const JsonObject& json, std::string_view key,
                                  std::string_view list) {
  const auto stage = json.find_object(key);
  if (!stage) return {};
  const Json* inner = stage->find(list);
  if (!inner) return {*stage};
  if (!inner->is_array()) stage->mismatch(list, "an array");
  std::vector<JsonObject> stages;
  for (const Json& one : *inner) stages.emplace_back(one, json.file(), stage->name(list));
  return stages;
}

bool has_type(const std::vector<JsonObject>& stages, std::string_view type) {
  return std::ranges::any_of(
      stages, [&](const JsonObject& stage) { return stage.find_string("type") == type; });
}

void refuse_normalizer(const JsonObject& json, std::string_view type) {
  fail<UnsupportedError>("{}: 'normalizer' {} is not supported", printable_path(json.file()),
                         printable(type));
}

bool metaspace_prefix(const JsonObject& stage) {
  const auto scheme = stage.find_string("prepend_scheme");
  return scheme ? scheme != "never" : stage.find_bool("add_prefix_space").value_or(true);
}

void read_added_tokens(const JsonObject& json, Tokens& tokens) {
  const Json* added = json.find("added_tokens");
  if (!added) return;
  if (!added->is_array()) json.mismatch("added_tokens", "an array");
  for (const Json& one : *added) {
    const JsonObject token(one, json.file(), "added_tokens");
    const auto text = token.find_string("content");
    if (!text || text->empty()) token.mismatch("content", "a text");
    const bool special = token.find_bool("special").value_or(false);
    const std::uint64_t id = token.uint("id");
    tokens.add(*text, id, special ? TokenType::control : TokenType::user_defined);
    for (const auto& [flag, ids] :
         {std::pair("lstrip", &tokens.strip_left), std::pair("rstrip", &tokens.strip_right),
          std::pair("single_word", &tokens.whole_words)})
      if (token.find_bool(flag).value_or(false)) ids->push_back(static_cast<std::int32_t>(id));
  }
}

namespace {

void read_token_ids(const JsonObject& model, Tokens& tokens) {
  const auto vocabulary = model.find_object("vocab");
  if (!vocabulary) model.mismatch("vocab", "an object");
  for (const auto& [text, id] : vocabulary->json().items()) {
    if (!id.is_number_unsigned()) vocabulary->mismatch(text, "a whole number");
    tokens.add(text, id.get<std::uint64_t>(), TokenType::normal);
  }
}

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

void write_merges(const JsonObject& model, MetadataSink& writer) {
  std::vector<std::string> lines;
  for (const auto& [left, right] : read_merges(model)) {
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
void write_scores(const JsonObject& model, const Tokens& tokens, MetadataSink& writer) {
  std::vector<float> scores(tokens.size(), 0.0F);
  std::vector<bool> scored(tokens.size());
  std::int32_t rank = 0;
  for (const auto& [left, right] : read_merges(model)) {
    const auto id = tokens.facts.find(left + right);
    if (!id || scored[*id]) continue;
    scored[*id] = true;
    scores[*id] = static_cast<float>(-++rank);  // exact: vocabularies are smaller than 2^24
  }
  writer.add_f32s("tokenizer.ggml.scores", scores);
}

void read_byte_level(const JsonObject& json, const JsonObject& model, Tokens& tokens,
                     MetadataSink& writer) {
  for (const JsonObject& stage : stages_of(json, "normalizer", "normalizers")) {
    const std::string type = stage.find_string("type").value_or("");
    // Texts that are not in composed form get other ids; engines ignore that.
    if (type != "NFC") refuse_normalizer(json, type);
  }
  const auto pre_tokenizer = json.find_object("pre_tokenizer");
  if (!pre_tokenizer) unsupported(json, "pre_tokenizer", nullptr);
  tokens.set_kind("gpt2", writer);
  writer.add_string(
      "tokenizer.ggml.pre",
      find_pre_tokenizer_name(*pre_tokenizer, model.find_bool("ignore_merges").value_or(false)));
  write_merges(model, writer);
}

bool splits_at_space(const JsonObject& stage) {
  const auto pattern = stage.find_object("pattern");
  return pattern && pattern->find_string("String") == " ";
}

// Whether spaces become U+2581, and one is put before a text, according to `normalizer` or
// `pre_tokenizer`.
bool read_space_prefix(const JsonObject& json) {
  bool prefix = false;
  for (const JsonObject& stage : stages_of(json, "normalizer", "normalizers")) {
    const std::string type = stage.find_string("type").value_or("");
    if (type == "Prepend" && stage.find_string("prepend") == kSpaceSymbol) {
      prefix = true;
    } else if (type != "Replace" || stage.find_string("content") != kSpaceSymbol) {
      refuse_normalizer(json, type);
    }
  }
  for (const JsonObject& stage : stages_of(json, "pre_tokenizer", "pretokenizers")) {
    const std::string type = stage.find_string("type").value_or("");
    // Spaces are symbols already: a split at spaces does nothing.
    if (type == "Split" && splits_at_space(stage)) continue;
    if (type != "Metaspace" || stage.find_bool("split").value_or(false))
      unsupported(json, "pre_tokenizer", &stage.json());
    prefix = prefix || metaspace_prefix(stage);
  }
  return prefix;
}

void read_byte_fallback(const JsonObject& json, const JsonObject& model, Tokens& tokens,
                        MetadataSink& writer) {
  tokens.set_kind("llama", writer);
  writer.add_string("tokenizer.ggml.pre", "default");
  writer.add_bool("tokenizer.ggml.add_space_prefix", read_space_prefix(json));
  write_scores(model, tokens, writer);
  for (unsigned byte = 0; byte < 256; ++byte)
    tokens.set_type(fmt::format("<0x{:02X}>", byte), TokenType::byte);
}

void read_bpe(const JsonObject& json, const JsonObject& model, Tokens& tokens,
              MetadataSink& writer) {
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (const auto text = model.find_string(key); text && !text->empty())
      unsupported(model, key, model.find(key));
  }
  read_token_ids(model, tokens);
  read_added_tokens(json, tokens);
  if (has_type(stages_of(json, "pre_tokenizer", "pretokenizers"), "ByteLevel") ||
      has_type(stages_of(json, "decoder", "decoders"), "ByteLevel")) {
    read_byte_level(json, model, tokens, writer);
  } else if (model.find_bool("byte_fallback").value_or(false)) {
    read_byte_fallback(json, model, tokens, writer);
  } else {
    fail<UnsupportedError>(
        "{}: BPE that is neither byte-level nor falls back to bytes is not supported",
        printable_path(json.file()));
  }
}

}  // namespace

std::optional<std::uint32_t> TokenizerFacts::find(std::string_view text) const {
  const auto found = ids.find(std::string(text));
  return found == ids.end() ? std::nullopt : std::optional(found->second);
}

TokenizerFacts read_tokenizer(const JsonObject& json, const JsonObject& config,
                              std::uint64_t n_vocab, MetadataSink& writer) {
  const auto model = json.find_object("model");
  if (!model) json.mismatch("model", "an object");
  // Old files do not name the type; only BPE has merges.
  const std::string type = model->find_string("type").value_or(model->find("merges") ? "BPE" : "");
  Tokens tokens(json.file(), n_vocab);
  if (type == "BPE") {
    read_bpe(json, *model, tokens, writer);
  } else if (type == "Unigram") {
    read_unigram(json, *model, tokens, writer);
  } else if (type == "WordPiece") {
    read_token_ids(*model, tokens);
    read_added_tokens(json, tokens);
    // Before the texts are rewritten: the unknown token is not a word, even if it is not an added
    // token.
    tokens.set_type(model->find_string("unk_token").value_or("[UNK]"), TokenType::unknown);
    read_wordpiece(json, *model, config, tokens, writer);
  } else {
    fail<UnsupportedError>(
        "{}: a tokenizer of type '{}' is not supported (supported: BPE, Unigram, WordPiece)",
        printable_path(json.file()), printable(type));
  }
  if (const auto unknown = model->find_string("unk_token")) {
    if (const auto id = tokens.facts.find(*unknown)) {
      writer.add_u32("tokenizer.ggml.unknown_token_id", *id);
      tokens.set_type(*unknown, TokenType::unknown);
    }
  }
  tokens.write(writer);
  tokens.facts.n_vocab = n_vocab;
  tokens.facts.forms = read_post_processor(json, tokens.facts);
  return std::move(tokens.facts);
}

}  // namespace weft::safetensors
