#include "safetensors/tokenizer/tokenizer_json.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"
#include "weft/files/weft_keys.h"
#include "weft/tokenize/vocabulary.h"

#include "safetensors/tokenizer/components.h"
#include "safetensors/tokenizer/pipeline_json.h"
#include "safetensors/tokenizer/post_processor.h"
#include "safetensors/tokenizer/tokens.h"

namespace weft::safetensors {

void unsupported(const JsonObject& json, std::string_view key, const Json* value) {
  fail<UnsupportedError>("{}: '{}' is {}, which is not supported", printable_path(json.file()),
                         json.name(key), value ? printable(value->dump(), 300) : "absent");
}

namespace {

// Decodes base64 (RFC 4648).
std::string decode_base64(const JsonObject& stage, std::string_view key) {
  const std::string text = stage.find_string(key).value_or("");
  std::string bytes;
  std::uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : text.substr(0, text.find('='))) {
    constexpr std::string_view kBase64 =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::size_t digit = kBase64.find(c);
    if (digit == kBase64.npos) stage.mismatch(key, "base64");
    bits = (bits << 6 | static_cast<std::uint32_t>(digit)) & 0xFFFFFF;
    n_bits += 6;
    if (n_bits < 8) continue;
    n_bits -= 8;
    bytes += static_cast<char>(bits >> n_bits & 0xFF);
  }
  return bytes;
}

// The table of the component "Precompiled"; empty if there is none. There is a key for one.
std::string read_charsmap(const JsonObject& json) {
  std::string table;
  for (const JsonObject& component : components(json, kNormalizer)) {
    if (component.find_string("type") != "Precompiled") continue;
    if (!table.empty()) unsupported(json, kNormalizer, json.find(kNormalizer));
    table = decode_base64(component, "precompiled_charsmap");
  }
  return table;
}

// How texts are cut and filled up is for those who ask for it.
constexpr std::string_view kTopKeys =
    "version truncation padding added_tokens normalizer pre_tokenizer model post_processor decoder";
constexpr std::string_view kAddedKeys = "id content single_word lstrip rstrip normalized special";

void read_added_tokens(const JsonObject& json, Tokens& tokens) {
  const Json* added = json.find("added_tokens");
  if (!added) return;
  if (!added->is_array()) json.mismatch("added_tokens", "an array");
  for (const Json& one : *added) {
    const JsonObject token(one, json.file(), "added_tokens");
    refuse_unknown_keys(token, kAddedKeys);
    const auto text = token.find_string("content");
    if (!text || text->empty()) token.mismatch("content", "a text");
    const auto flag = [&](const char* key) { return token.find_bool(key).value_or(false); };
    AddedToken flags{.special = flag("special"),
                     .strip_left = flag("lstrip"),
                     .strip_right = flag("rstrip"),
                     .whole_word = flag("single_word"),
                     .in_model = tokens.facts.find(*text).has_value()};
    flags.normalized = token.find_bool("normalized").value_or(!flags.special);
    const std::uint64_t id = token.uint("id");
    tokens.add(*text, id, flags.special ? TokenType::control : TokenType::user_defined);
    flags.id = static_cast<TokenId>(id);
    tokens.added.push_back(flags);
  }
}

void read_token_ids(const JsonObject& model, Tokens& tokens) {
  const auto vocabulary = model.find_object("vocab");
  if (!vocabulary) model.mismatch("vocab", "an object");
  for (const auto& [text, id] : vocabulary->json().items()) {
    if (!id.is_number_unsigned()) vocabulary->mismatch(text, "a whole number");
    tokens.add(text, id.get<std::uint64_t>(), TokenType::normal);
  }
}

// [[TEXT, SCORE], ...]: the ids are the indices.
std::vector<double> read_pieces(const JsonObject& model, Tokens& tokens) {
  const Json* pieces = model.find("vocab");
  if (!pieces || !pieces->is_array()) model.mismatch("vocab", "an array");
  std::vector<double> scores(tokens.size(), 0.0);
  std::uint64_t id = 0;
  for (const Json& piece : *pieces) {
    if (!piece.is_array() || piece.size() != 2 || !piece[0].is_string() || !piece[1].is_number())
      model.mismatch("vocab", "an array of texts with scores");
    tokens.add(piece[0].get<std::string>(), id, TokenType::normal);  // refuses ids beyond the end
    scores[id++] = piece[1].get<double>();
  }
  return scores;
}

// The model's type. Old files do not name it: only BPE has merges.
std::string type_of(const JsonObject& model) {
  return model.find_string("type").value_or(model.find("merges") ? "BPE" : "");
}

void check_model(const JsonObject& model) {
  for (const ComponentRow& row : component_rows())
    if (row.stage == kModel && row.type == type_of(model)) refuse_unknown_keys(model, row.keys);
  if (const auto dropout = model.find_number("dropout"); dropout && *dropout != 0)
    unsupported(model, "dropout", model.find("dropout"));
}

std::optional<std::uint32_t> find_unknown(const JsonObject& model, const std::string& type,
                                          const Tokens& tokens) {
  if (type == "Unigram") {
    const auto id = model.find_uint("unk_id");
    if (id && *id >= tokens.size())
      model.mismatch("unk_id", fmt::format("a token id below {}", tokens.size()));
    return id ? std::optional(static_cast<std::uint32_t>(*id)) : std::nullopt;
  }
  const auto text = model.find_string("unk_token");
  if (text) return tokens.facts.find(*text);
  return type == "WordPiece" ? tokens.facts.find("[UNK]") : std::nullopt;
}

// Reads one tokenizer.json into `tokens` and a pipeline, and writes both.
class TokenizerReader {
 public:
  TokenizerReader(const JsonObject& json, const JsonObject& model, std::uint64_t n_vocab)
      : json_(json), model_(model), type_(type_of(model)), tokens_(json.file(), n_vocab) {}

  TokenizerFacts read(MetadataSink& writer) {
    refuse_unknown_keys(json_, kTopKeys);
    check_model(model_);
    if (type_ == "Unigram") {
      scores_ = read_pieces(model_, tokens_);
    } else {
      read_token_ids(model_, tokens_);
    }
    read_added_tokens(json_, tokens_);
    const auto unknown = find_unknown(model_, type_, tokens_);
    if (unknown) {
      writer.add_u32("tokenizer.ggml.unknown_token_id", *unknown);
      tokens_.set_type(tokens_.text(*unknown), TokenType::unknown);
    }
    if (model_.find_bool("byte_fallback").value_or(false)) {
      for (unsigned byte = 0; byte < 256; ++byte)
        tokens_.set_type(fmt::format("<0x{:02X}>", byte), TokenType::byte);
    }
    write_pipeline(unknown ? std::int64_t{*unknown} : -1, writer);
    tokens_.write(writer);
    tokens_.facts.n_vocab = tokens_.size();
    tokens_.facts.forms = read_post_processor(json_, tokens_.facts);
    return std::move(tokens_.facts);
  }

 private:
  // The keys of the kind, and the pipeline if the kind does not give its ids.
  void write_pipeline(std::int64_t unknown, MetadataSink& writer) {
    Json reduced = reduce_to_pipeline(json_, unknown, tokens_.added);
    reduced[std::string(kModel)]["type"] = type_;
    const JsonObject object(reduced, json_.file());
    const std::string charsmap = read_charsmap(json_);
    const TokenizerPipeline pipeline = read_pipeline(object, tokens_.size(), charsmap, scores_);
    const bool same = type_ == "BPE"         ? write_bpe(json_, model_, pipeline, tokens_, writer)
                      : type_ == "Unigram"   ? write_unigram(pipeline, tokens_, writer)
                      : type_ == "WordPiece" ? write_wordpiece(model_, pipeline, tokens_, writer)
                                             : write_others(writer);
    std::vector<std::int32_t> bytes;
    for (const char c : charsmap) bytes.push_back(static_cast<std::uint8_t>(c));
    if (!bytes.empty()) writer.add_i32s("tokenizer.ggml.precompiled_charsmap", bytes);
    if (same) return;
    if (!bytes.empty()) drop_charsmap(reduced[std::string(kNormalizer)]);
    writer.add_string(kPipelineKey, reduced.dump());
    if (!scores_.empty()) writer.add_f64s(kPipelineScoresKey, scores_);
  }
  bool write_others(MetadataSink& writer) {
    tokens_.set_kind("pipeline", writer);
    return false;
  }
  // The table has a key of its own.
  static void drop_charsmap(Json& normalizer) {
    if (normalizer.contains("precompiled_charsmap")) normalizer["precompiled_charsmap"] = true;
    if (!normalizer.contains("normalizers")) return;
    for (Json& one : normalizer["normalizers"]) drop_charsmap(one);
  }

  const JsonObject& json_;
  const JsonObject& model_;
  const std::string type_;
  Tokens tokens_;
  std::vector<double> scores_;  // if the model is of type Unigram
};

}  // namespace

std::optional<std::uint32_t> TokenizerFacts::find(std::string_view text) const {
  const auto found = ids.find(std::string(text));
  return found == ids.end() ? std::nullopt : std::optional(found->second);
}

void apply_settings(const JsonObject& config, Json& tokenizer) {
  const auto normalizer = tokenizer.find(kNormalizer);
  if (normalizer == tokenizer.end() || !normalizer->is_object() ||
      normalizer->value("type", Json()) != "BertNormalizer")
    return;
  const auto model = tokenizer.find(kModel);
  if (model == tokenizer.end() || !model->is_object() ||
      model->value("type", Json()) != "WordPiece")
    return;
  for (const auto& [key, own] :
       {std::pair("do_lower_case", "lowercase"), std::pair("strip_accents", "strip_accents"),
        std::pair("tokenize_chinese_chars", "handle_chinese_chars")})
    if (const auto value = config.find_bool(key)) (*normalizer)[own] = *value;
}

TokenizerFacts read_tokenizer(const JsonObject& json, std::uint64_t n_vocab, MetadataSink& writer) {
  const auto model = json.find_object(kModel);
  if (!model) json.mismatch(kModel, "an object");
  return TokenizerReader(json, *model, n_vocab).read(writer);
}

}  // namespace weft::safetensors
