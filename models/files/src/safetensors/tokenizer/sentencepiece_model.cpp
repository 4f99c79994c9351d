#include "safetensors/tokenizer/sentencepiece_model.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/utf8.h"

#include "safetensors/tokenizer/protobuf.h"
#include "safetensors/tokenizer/tokens.h"

namespace weft::safetensors {
namespace {

// The numbers of types of pieces are those of TokenType.
struct Piece {
  std::string text;
  float score = 0;
  TokenType type = TokenType::normal;
};

struct Model {
  enum Type : std::uint64_t { kUnigram = 1, kBpe = 2 };

  std::vector<Piece> pieces;
  std::uint64_t type = kUnigram;
  bool space_at_end = false;  // treat_whitespace_as_suffix
  std::int64_t unknown = 0, bos = 1, eos = 2, pad = -1;
  std::string charsmap;
  bool space_prefix = true, remove_extra_spaces = true, escape_spaces = true;
};

class ModelReader {
 public:
  explicit ModelReader(const std::string& file) : file_(file) {}

  Model read(std::string_view bytes) {
    enum : std::uint32_t { kPieces = 1, kTrainer = 2, kNormalizer = 3 };
    each(bytes, [&](const ProtoField& field) {
      if (field.number == kPieces) read_piece(field.bytes);
      if (field.number == kTrainer) read_trainer(field.bytes);
      if (field.number == kNormalizer) read_normalizer(field.bytes);
    });
    if (model_.pieces.empty())
      fail<FormatError>("{}: not a SentencePiece model: it has no tokens", printable_path(file_));
    return std::move(model_);
  }

 private:
  template <class Take>
  void each(std::string_view message, Take take) {
    ProtoReader reader(message, file_);
    for (ProtoField field; reader.next(field);) take(field);
  }

  void read_piece(std::string_view message) {
    enum : std::uint32_t { kText = 1, kScore = 2, kType = 3 };
    Piece piece;
    each(message, [&](const ProtoField& field) {
      if (field.number == kText) piece.text = field.bytes;
      if (field.number == kScore) piece.score = field.as_float();
      if (field.number == kType) piece.type = type_of(field.value);
    });
    if (piece.text.empty() || !is_utf8(piece.text)) {
      fail<FormatError>("{}: token {} is not a text in UTF-8", printable_path(file_),
                        model_.pieces.size());
    }
    model_.pieces.push_back(std::move(piece));
  }

  TokenType type_of(std::uint64_t number) const {
    if (number >= 1 && number <= static_cast<std::uint64_t>(TokenType::byte))
      return static_cast<TokenType>(number);
    fail<UnsupportedError>("{}: token {} has type {}, which is not known", printable_path(file_),
                           model_.pieces.size(), number);
  }

  void read_trainer(std::string_view message) {
    enum : std::uint32_t { kType = 3, kSuffix = 24, kUnk = 40, kBos, kEos, kPad };
    each(message, [&](const ProtoField& field) {
      const auto id = static_cast<std::int32_t>(field.value);  // negative ones have 64 bits
      if (field.number == kType) model_.type = field.value;
      if (field.number == kSuffix) model_.space_at_end = field.as_bool();
      if (field.number == kUnk) model_.unknown = id;
      if (field.number == kBos) model_.bos = id;
      if (field.number == kEos) model_.eos = id;
      if (field.number == kPad) model_.pad = id;
    });
  }

  void read_normalizer(std::string_view message) {
    enum : std::uint32_t { kCharsmap = 2, kPrefix = 3, kExtraSpaces = 4, kEscape = 5 };
    each(message, [&](const ProtoField& field) {
      if (field.number == kCharsmap) model_.charsmap = field.bytes;
      if (field.number == kPrefix) model_.space_prefix = field.as_bool();
      if (field.number == kExtraSpaces) model_.remove_extra_spaces = field.as_bool();
      if (field.number == kEscape) model_.escape_spaces = field.as_bool();
    });
  }

  const std::string& file_;
  Model model_;
};

void check_supported(const Model& model, const std::string& file) {
  const auto refuse = [&](std::string_view what) {
    fail<UnsupportedError>("{}: {} is not supported", printable_path(file), what);
  };
  if (model.type != Model::kUnigram && model.type != Model::kBpe)
    refuse(fmt::format("'model_type' {} (supported: 1, unigram; 2, BPE)", model.type));
  if (model.space_at_end) refuse("'treat_whitespace_as_suffix'");
  if (!model.escape_spaces) refuse("'escape_whitespaces' false");
}

// Classes that give the ids of the model. Others, such as XLMRobertaTokenizer, move them.
constexpr std::string_view kClasses[] = {"LlamaTokenizer",     "CodeLlamaTokenizer",
                                         "GemmaTokenizer",     "T5Tokenizer",
                                         "InternLM2Tokenizer", "BaichuanTokenizer"};

constexpr std::string_view kT5 = "T5Tokenizer";

std::string class_of(const Json& settings, const std::string& settings_file, const Model& model,
                     const std::string& model_file) {
  const JsonObject json(settings, settings_file);
  const bool bpe = model.type == Model::kBpe;
  const auto given = json.find_string("tokenizer_class");
  if (!given && !bpe && !model_file.ends_with("spiece.model"))
    fail<UnsupportedError>(
        "{}: without a 'tokenizer_class' in {}, it is not known which tokens go around a text",
        printable_path(model_file), printable_path(settings_file));
  std::string name = given.value_or(std::string(bpe ? std::string_view("LlamaTokenizer") : kT5));
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  if (std::ranges::count(kClasses, name) == 0) {
    fail<UnsupportedError>(
        "{}: 'tokenizer_class' {} without tokenizer.json is not supported: it may move the ids of "
        "the SentencePiece model",
        printable_path(settings_file), printable(name));
  }
  return name;
}

// What changes the ids of a model that is used as it is.
void check_settings(const JsonObject& settings) {
  const auto refuse = [&](std::string_view what, std::string_view why) {
    fail<UnsupportedError>("{}: {} is not supported without tokenizer.json: {}",
                           printable_path(settings.file()), what, why);
  };
  const auto options = settings.find_object("sp_model_kwargs");
  if (options && options->find_bool("enable_sampling").value_or(false))
    refuse("'enable_sampling'", "ids would be random");
}

// {"ID": {"content": TEXT, "special": BOOL, ...}, ...}
void add_decoder_tokens(const JsonObject& settings, Tokens& tokens) {
  const auto added = settings.find_object("added_tokens_decoder");
  if (!added) return;
  for (const auto& [key, value] : added->json().items()) {
    const JsonObject token(value, added->file(), added->name(key));
    std::uint64_t id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    const auto text = token.find_string("content");
    if (error != std::errc() || end != key.data() + key.size())
      added->mismatch(key, "a token with its id as the key");
    if (!text || text->empty()) token.mismatch("content", "a text");
    const auto flag = [&](const char* name) { return token.find_bool(name).value_or(false); };
    tokens.add(*text, id, flag("special") ? TokenType::control : TokenType::user_defined);
    tokens.added.push_back({.id = static_cast<TokenId>(id),
                            .strip_left = flag("lstrip"),
                            .strip_right = flag("rstrip"),
                            .whole_word = flag("single_word")});
  }
}

// <extra_id_N>, ..., <extra_id_0> follow the tokens of the model.
void add_sentinels(const JsonObject& settings, std::size_t n_pieces, Tokens& tokens) {
  const std::uint64_t n = settings.find_uint("extra_ids").value_or(100);
  for (std::uint64_t i = 0; i < n && n_pieces + i < tokens.size(); ++i) {
    const std::string text = fmt::format("<extra_id_{}>", n - 1 - i);
    if (!tokens.facts.find(text)) tokens.add(text, n_pieces + i, TokenType::control);
  }
}

void name_special_tokens(const Model& model, Json& settings) {
  const auto name = [&](const char* key, std::int64_t id) {
    if (id < 0 || id >= std::ssize(model.pieces)) return;
    if (settings.value(key, Json()).is_null())
      settings[key] = model.pieces[static_cast<std::size_t>(id)].text;
  };
  name("bos_token", model.bos);
  name("eos_token", model.eos);
  name("pad_token", model.pad);
}

// The space before a text. Classes that know `legacy` put it there themselves if that is off, and
// CodeLlama's always does: once, and only if `add_prefix_space` says so.
struct SpacePrefix {
  bool added, once;
};
SpacePrefix space_prefix_of(const Model& model, const JsonObject& settings,
                            std::string_view tokenizer_class) {
  const bool knows = tokenizer_class == "LlamaTokenizer" || tokenizer_class == kT5;
  const bool once = tokenizer_class == "CodeLlamaTokenizer" ||
                    (knows && !settings.find_bool("legacy").value_or(true));
  const bool added = !once || settings.find_bool("add_prefix_space").value_or(true);
  return {model.space_prefix && added, once};
}

void write_model(const Model& model, const SpacePrefix& prefix, std::size_t n_tokens,
                 MetadataSink& writer) {
  std::vector<float> scores(n_tokens, 0.0F);
  for (std::size_t i = 0; i < model.pieces.size(); ++i) scores[i] = model.pieces[i].score;
  writer.add_string("tokenizer.ggml.pre", "default");
  writer.add_bool("tokenizer.ggml.add_space_prefix", prefix.added);
  if (prefix.once) writer.add_bool(kPrefixOnceKey, true);
  writer.add_bool("tokenizer.ggml.remove_extra_whitespaces", model.remove_extra_spaces);
  writer.add_f32s("tokenizer.ggml.scores", scores);
  std::vector<std::int32_t> bytes;
  for (const char c : model.charsmap) bytes.push_back(static_cast<std::uint8_t>(c));
  if (!bytes.empty()) writer.add_i32s("tokenizer.ggml.precompiled_charsmap", bytes);
  if (model.unknown >= 0 && model.unknown < std::ssize(model.pieces)) {
    writer.add_u32("tokenizer.ggml.unknown_token_id", static_cast<std::uint32_t>(model.unknown));
  }
}

// A text and its EOS, and the same twice for pairs.
TextForms t5_forms(const Model& model) {
  const FormPart eos{.id = static_cast<TokenId>(model.eos)};
  const FormPart first{.what = FormPart::What::first}, second{.what = FormPart::What::second};
  return {.single = {first, eos}, .pair = {first, eos, second, eos}};
}

// The texts of tokens that settings name: "eos_token": TEXT or {"content": TEXT}, and lists of
// them.
void find_named(const Json& settings, std::set<std::string>& texts) {
  const auto add = [&](const Json& value) {
    const Json& text = value.is_object() && value.contains("content") ? value["content"] : value;
    if (text.is_string()) texts.insert(text.get<std::string>());
  };
  for (const auto& [key, value] : settings.items()) {
    if (key == "additional_special_tokens" && value.is_array())
      std::ranges::for_each(value, add);
    else if (key.ends_with("_token"))
      add(value);
  }
}

}  // namespace

void add_older_tokens(const JsonObject& added, const JsonObject& special, Json& settings) {
  std::set<std::string> named;
  find_named(settings, named);
  find_named(special.json(), named);
  Json& decoder = settings["added_tokens_decoder"];
  if (decoder.is_null()) decoder = Json::object();
  if (!decoder.is_object()) return;  // refused when it is read
  for (const auto& [text, id] : added.json().items()) {
    if (!id.is_number_unsigned()) added.mismatch(text, "the id of a token");
    const std::string key = std::to_string(id.get<std::uint64_t>());
    if (decoder.contains(key)) continue;
    decoder[key] = {{"content", text}, {"special", named.contains(text)}};
  }
}

TokenizerFacts read_sentencepiece(std::string_view bytes, const std::string& file, Json& settings,
                                  const std::string& settings_file, std::uint64_t n_vocab,
                                  MetadataSink& writer) {
  const Model model = ModelReader(file).read(bytes);
  check_supported(model, file);
  const std::string tokenizer_class = class_of(settings, settings_file, model, file);
  settings["tokenizer_class"] = tokenizer_class;
  Tokens tokens(file, n_vocab);
  for (std::size_t i = 0; i < model.pieces.size(); ++i)
    tokens.add(model.pieces[i].text, i, model.pieces[i].type);
  const JsonObject json(settings, settings_file);
  check_settings(json);
  add_decoder_tokens(json, tokens);
  if (tokenizer_class == kT5) add_sentinels(json, model.pieces.size(), tokens);
  if (model.unknown >= 0 && model.unknown < std::ssize(model.pieces))
    tokens.set_type(model.pieces[static_cast<std::size_t>(model.unknown)].text, TokenType::unknown);
  tokens.set_kind(model.type == Model::kBpe ? "llama" : "t5", writer);
  write_model(model, space_prefix_of(model, json, tokenizer_class), tokens.size(), writer);
  tokens.write(writer);
  tokens.facts.n_vocab = tokens.size();
  if (tokenizer_class == kT5 && model.eos >= 0 && model.eos < std::ssize(model.pieces))
    tokens.facts.forms = t5_forms(model);
  name_special_tokens(model, settings);
  return std::move(tokens.facts);
}

}  // namespace weft::safetensors
