#include "safetensors/tokenizer/pipeline_json.h"

#include <utility>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/tokenize/space_symbol.h"

#include "safetensors/tokenizer/components.h"

namespace weft::safetensors {
namespace {

using Notation = TokenizerPipeline::Notation;
using Kind = TokenModel::Kind;

constexpr const char* kUnknownId = "unk_id";

constexpr std::pair<std::string_view, Kind> kKinds[] = {{"BPE", Kind::bpe},
                                                        {"Unigram", Kind::unigram},
                                                        {"WordPiece", Kind::word_piece},
                                                        {"WordLevel", Kind::word_level}};

constexpr std::pair<const char*, bool AddedToken::*> kFlags[] = {
    {"special", &AddedToken::special},        {"normalized", &AddedToken::normalized},
    {"lstrip", &AddedToken::strip_left},      {"rstrip", &AddedToken::strip_right},
    {"single_word", &AddedToken::whole_word}, {"in_model", &AddedToken::in_model}};

// A whole number below `n`, or -1.
TokenId read_id(const JsonObject& json, std::string_view key, std::size_t n) {
  const Json* value = json.find(key);
  if (!value || *value == -1) return -1;
  if (!value->is_number_integer() || *value < 0 || value->get<std::uint64_t>() >= n)
    json.mismatch(key, fmt::format("a token id below {}", n));
  return value->get<TokenId>();
}

TokenModel read_model(const JsonObject& json, std::size_t n_tokens, std::vector<double> scores) {
  TokenModel model;
  const std::string type = json.find_string("type").value_or("");
  bool known = false;
  for (const auto& [name, kind] : kKinds) {
    if (name != type) continue;
    model.kind = kind;
    known = true;
  }
  if (!known) {
    fail<UnsupportedError>(
        "{}: a tokenizer of type '{}' is not supported (supported: BPE, "
        "Unigram, WordPiece, WordLevel)",
        printable_path(json.file()), printable(type));
  }
  model.unknown = read_id(json, kUnknownId, n_tokens);
  model.byte_fallback = json.find_bool("byte_fallback").value_or(false);
  model.ignore_merges = json.find_bool("ignore_merges").value_or(false);
  model.fuse_unknown = json.find_bool("fuse_unk").value_or(false);
  const bool words = model.kind == Kind::word_piece;
  model.continuing_prefix =
      json.find_string("continuing_subword_prefix").value_or(words ? "##" : "");
  model.word_suffix = json.find_string("end_of_word_suffix").value_or("");
  model.max_word_chars = json.find_uint("max_input_chars_per_word").value_or(100);
  model.scores = std::move(scores);
  return model;
}

[[noreturn]] void refuse_decoder(const JsonObject& component) {
  fail<UnsupportedError>("{}: a decoder {} is not supported", printable_path(component.file()),
                         printable(component.json().dump(), 300));
}

// The character that a decoder turns into a space.
std::string read_space(const JsonObject& component) {
  if (component.find_string("type") == "Metaspace")
    return component.find_string("replacement").value_or(std::string(kSpaceSymbol));
  const auto pattern = component.find_object("pattern");
  const auto text = pattern ? pattern->find_string("String") : std::nullopt;
  if (!text || text->empty() || component.find_string("content") != " ") refuse_decoder(component);
  return *text;
}

// Whether the component changes only what programs change themselves: a space before a text.
bool is_usual(const JsonObject& component, const TokenModel& model, bool fused) {
  const auto says = [&](const char* key, std::string_view usual, std::string_view wanted) {
    return component.find_string(key).value_or(std::string(usual)) == wanted;
  };
  const std::string type = component.find_string("type").value_or("");
  if (type == "Strip")
    return fused && says("content", "", " ") && component.find_uint("start").value_or(0) <= 1 &&
           component.find_uint("stop").value_or(0) == 0;
  if (type == "BPEDecoder") return says("suffix", "</w>", model.word_suffix);
  if (type == "WordPiece") return says("prefix", "##", model.continuing_prefix);
  return true;
}

void read_decoder(const JsonObject& json, TokenizerPipeline& pipeline) {
  const std::vector<JsonObject> all = components(json, kDecoder);
  if (all.empty()) pipeline.notation = Notation::words;
  bool fused = false;
  for (const JsonObject& component : all) {
    const std::string type = component.find_string("type").value_or("");
    if (!is_usual(component, pipeline.model, fused)) refuse_decoder(component);
    if (type == "ByteLevel") pipeline.notation = Notation::bytes;
    if (type == "ByteFallback") pipeline.byte_tokens = true;
    fused = fused || type == "Fuse";
    if (type != "Metaspace" && type != "Replace") continue;
    if (!pipeline.space_symbol.empty()) refuse_decoder(component);
    pipeline.space_symbol = read_space(component);
    pipeline.notation = Notation::spaces;
  }
  for (const split::Step& step : pipeline.splits)
    if (std::holds_alternative<split::ByteLevel>(step)) pipeline.notation = Notation::bytes;
}

}  // namespace

Json reduce_to_pipeline(const JsonObject& tokenizer, std::int64_t unknown,
                        std::span<const AddedToken> added) {
  Json json = Json::object();
  for (const std::string_view stage : {kNormalizer, kPreTokenizer, kDecoder})
    if (const Json* value = tokenizer.find(stage)) json[std::string(stage)] = *value;
  Json& model = json[std::string(kModel)] = Json::object();
  for (const auto& [key, value] : tokenizer.find_object(kModel)->json().items())
    if (key != "vocab" && key != "merges" && key != "unk_token") model[key] = value;
  model[kUnknownId] = unknown;
  Json& tokens = json["added_tokens"] = Json::array();
  for (const AddedToken& token : added) {
    Json one = {{"id", token.id}};
    for (const auto& [key, flag] : kFlags)
      if (token.*flag) one[key] = true;
    tokens.push_back(std::move(one));
  }
  return json;
}

TokenizerPipeline read_pipeline(const JsonObject& json, std::size_t n_tokens,
                                std::string_view charsmap, std::vector<double> scores) {
  TokenizerPipeline pipeline;
  pipeline.normalizers = read_normalizers(json, charsmap);
  pipeline.splits = read_splits(json);
  const auto model = json.find_object(kModel);
  if (!model) json.mismatch(kModel, "an object");
  pipeline.model = read_model(*model, n_tokens, std::move(scores));
  const Json* added = json.find("added_tokens");
  if (!added || !added->is_array()) json.mismatch("added_tokens", "an array");
  for (const Json& one : *added) {
    const JsonObject token(one, json.file(), "added_tokens");
    AddedToken flags{.id = read_id(token, "id", n_tokens)};
    if (flags.id < 0) token.mismatch("id", "a token id");
    for (const auto& [key, flag] : kFlags) flags.*flag = token.find_bool(key).value_or(false);
    pipeline.added.push_back(flags);
  }
  read_decoder(json, pipeline);
  return pipeline;
}

}  // namespace weft::safetensors
