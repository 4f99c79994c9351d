// Models of type Unigram and WordPiece in tokenizer.json.

#include <cstdint>

#include "safetensors/tokenizer/tokens.h"

namespace weft::safetensors {
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

// [[TEXT, SCORE], ...]: the ids are the indices.
std::vector<float> read_pieces(const JsonObject& model, Tokens& tokens) {
  const Json* pieces = model.find("vocab");
  if (!pieces || !pieces->is_array()) model.mismatch("vocab", "an array");
  std::vector<float> scores(tokens.size(), 0.0F);
  std::uint64_t id = 0;
  for (const Json& piece : *pieces) {
    if (!piece.is_array() || piece.size() != 2 || !piece[0].is_string() || !piece[1].is_number())
      model.mismatch("vocab", "an array of texts with scores");
    tokens.add(piece[0].get<std::string>(), id, TokenType::normal);  // refuses ids beyond the end
    scores[id++] = piece[1].get<float>();
  }
  return scores;
}

// How texts are normalized before the lookup, as far as the kind supports it.
struct Spaces {
  bool prefix = false;
  bool collapse = false;
};

Spaces read_spaces(const JsonObject& json, std::string& charsmap) {
  Spaces spaces;
  for (const JsonObject& stage : stages_of(json, "normalizer", "normalizers")) {
    const std::string type = stage.find_string("type").value_or("");
    if (type == "Precompiled") {
      charsmap = decode_base64(stage, "precompiled_charsmap");
    } else if (type == "Replace") {
      const auto pattern = stage.find_object("pattern");
      if (!pattern || pattern->find_string("Regex") != " {2,}") refuse_normalizer(json, type);
      spaces.collapse = true;
    } else if (type != "Strip") {
      refuse_normalizer(json, type);
    }
  }
  for (const JsonObject& stage : stages_of(json, "pre_tokenizer", "pretokenizers")) {
    const std::string type = stage.find_string("type").value_or("");
    if (type == "WhitespaceSplit") {
      spaces.collapse = true;
    } else if (type == "Metaspace") {
      spaces.prefix = metaspace_prefix(stage);
    } else {
      unsupported(json, "pre_tokenizer", &stage.json());
    }
  }
  return spaces;
}

}  // namespace

void read_unigram(const JsonObject& json, const JsonObject& model, Tokens& tokens,
                  MetadataSink& writer) {
  const std::vector<float> scores = read_pieces(model, tokens);
  read_added_tokens(json, tokens);
  std::string charsmap;
  const Spaces spaces = read_spaces(json, charsmap);
  if (model.find_bool("byte_fallback").value_or(false)) {
    for (unsigned byte = 0; byte < 256; ++byte)
      tokens.set_type(fmt::format("<0x{:02X}>", byte), TokenType::byte);
  }
  if (const auto id = model.find_uint("unk_id"); id && *id < tokens.size()) {
    writer.add_u32("tokenizer.ggml.unknown_token_id", static_cast<std::uint32_t>(*id));
    tokens.set_type(tokens.text(*id), TokenType::unknown);
  }
  tokens.set_kind("t5", writer);
  writer.add_string("tokenizer.ggml.pre", "default");
  writer.add_bool("tokenizer.ggml.add_space_prefix", spaces.prefix);
  writer.add_bool("tokenizer.ggml.remove_extra_whitespaces", spaces.collapse);
  writer.add_f32s("tokenizer.ggml.scores", scores);
  std::vector<std::int32_t> bytes;
  for (const char c : charsmap) bytes.push_back(static_cast<std::uint8_t>(c));
  if (!bytes.empty()) writer.add_i32s("tokenizer.ggml.precompiled_charsmap", bytes);
}

void read_wordpiece(const JsonObject& json, const JsonObject& model, const JsonObject& config,
                    Tokens& tokens, MetadataSink& writer) {
  const std::string prefix = model.find_string("continuing_subword_prefix").value_or("##");
  if (prefix != "##")
    unsupported(model, "continuing_subword_prefix", model.find("continuing_subword_prefix"));
  if (model.find_uint("max_input_chars_per_word").value_or(100) != 100)
    unsupported(model, "max_input_chars_per_word", model.find("max_input_chars_per_word"));
  const auto normalizer = json.find_object("normalizer");
  if (!normalizer || normalizer->find_string("type") != "BertNormalizer")
    unsupported(json, "normalizer", json.find("normalizer"));
  for (const char* key : {"clean_text", "handle_chinese_chars"}) {
    if (!normalizer->find_bool(key).value_or(true))
      unsupported(*normalizer, key, normalizer->find(key));
  }
  if (!config.find_bool("tokenize_chinese_chars").value_or(true))
    unsupported(config, "tokenize_chinese_chars", config.find("tokenize_chinese_chars"));
  const auto pre_tokenizer = json.find_object("pre_tokenizer");
  if (!pre_tokenizer || pre_tokenizer->find_string("type") != "BertPreTokenizer")
    unsupported(json, "pre_tokenizer", json.find("pre_tokenizer"));

  // Tokenizers of this kind take them from there if they are given.
  const auto setting = [&](std::string_view key) { return config.find_bool(key); };
  const bool lowercase =
      setting("do_lower_case").value_or(normalizer->find_bool("lowercase").value_or(true));
  tokens.set_kind("bert", writer);
  writer.add_string("tokenizer.ggml.pre", "default");
  writer.add_bool("tokenizer.ggml.normalizer.lowercase", lowercase);
  writer.add_bool("tokenizer.ggml.normalizer.strip_accents",
                  setting("strip_accents")
                      .value_or(normalizer->find_bool("strip_accents").value_or(lowercase)));
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (tokens.type(id) != TokenType::normal) continue;
    const std::string& text = tokens.text(id);
    tokens.rewrite(id, text.starts_with(prefix) ? text.substr(prefix.size())
                                                : std::string(kSpaceSymbol) + text);
  }
}

}  // namespace weft::safetensors
