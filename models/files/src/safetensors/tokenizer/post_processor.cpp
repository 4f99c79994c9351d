#include "safetensors/tokenizer/post_processor.h"

#include <algorithm>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/printable.h"

#include "safetensors/tokenizer/components.h"
#include "safetensors/tokenizer/tokens.h"

namespace weft::safetensors {
namespace {

using What = FormPart::What;

constexpr std::size_t kMaxParts = 64;        // published templates have up to six
constexpr std::size_t kMaxIdsPerToken = 64;  // and one id each
constexpr std::uint64_t kMaxType = 1024;

class FormReader {
 public:
  FormReader(const JsonObject& stage, const TokenizerFacts& tokens)
      : stage_(stage), tokens_(tokens) {}

  TextForms by_template() const {
    const Json* pair = stage_.find("pair");
    // Texts can be encoded without a form for pairs.
    if (pair && pair->is_array() && pair->empty())
      return {.single = read("single", /*pair=*/false), .no_pair = true};
    return {read("single", /*pair=*/false), read("pair", /*pair=*/true)};
  }

  // [CLS] A [SEP] and [CLS] A [SEP] B [SEP]; RoBERTa's pairs have [SEP] twice and one type.
  TextForms fixed(bool roberta) const {
    const FormPart cls{.id = named("cls")}, sep{.id = named("sep")};
    const std::int32_t second = roberta ? 0 : 1;
    const FormPart last{.id = sep.id, .type = second};
    TextForms forms{.single = {cls, {.what = What::first}, sep},
                    .pair = {cls, {.what = What::first}, sep}};
    if (roberta) forms.pair.push_back(sep);
    forms.pair.push_back({.what = What::second, .type = second});
    forms.pair.push_back(last);
    return forms;
  }

 private:
  // The id of ["[SEP]", 102].
  TokenId named(std::string_view key) const {
    const Json* value = stage_.find(key);
    if (!value || !value->is_array() || value->size() != 2)
      stage_.mismatch(key, "a token and its id");
    return checked(key, (*value)[1]);
  }

  TokenId checked(std::string_view key, const Json& id) const {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= tokens_.n_vocab) {
      fail<FormatError>("{}: '{}' must be ids below {}, got {}", printable_path(stage_.file()),
                        stage_.name(key), tokens_.n_vocab, printable(id.dump()));
    }
    return id.get<TokenId>();
  }

  TextForm read(std::string_view key, bool pair) const {
    const Json* parts = stage_.find(key);
    if (!parts && pair) return {};
    if (!parts || !parts->is_array() || parts->size() > kMaxParts)
      stage_.mismatch(key, fmt::format("an array of at most {} parts", kMaxParts));
    TextForm form;
    for (const Json& part : *parts) add(JsonObject(part, stage_.file(), stage_.name(key)), form);
    const auto n = [&](What what) { return std::ranges::count(form, what, &FormPart::what); };
    if (n(What::first) == 1 && n(What::second) == (pair ? 1 : 0)) return form;
    fail<UnsupportedError>("{}: '{}' must have {} once, got {}", printable_path(stage_.file()),
                           stage_.name(key), pair ? "each of two texts" : "one text",
                           printable(parts->dump(), 300));
  }

  void add(const JsonObject& part, TextForm& form) const {
    if (const auto text = part.find_object("Sequence")) {
      const std::string id = text->find_string("id").value_or("");
      if (id != "A" && id != "B") text->mismatch("id", "'A' or 'B'");
      form.push_back({.what = id == "A" ? What::first : What::second, .type = type_of(*text)});
    } else if (const auto token = part.find_object("SpecialToken")) {
      for (const TokenId id : ids_of(token->find_string("id").value_or("")))
        form.push_back({.id = id, .type = type_of(*token)});
    } else {
      unsupported(part, "", &part.json());
    }
  }

  static std::int32_t type_of(const JsonObject& part) {
    const std::uint64_t type = part.find_uint("type_id").value_or(0);
    if (type > kMaxType) part.mismatch("type_id", fmt::format("at most {}", kMaxType));
    return static_cast<std::int32_t>(type);
  }

  std::vector<TokenId> ids_of(const std::string& name) const {
    const auto tokens = stage_.find_object("special_tokens");
    const auto token = tokens ? tokens->find_object(name) : std::nullopt;
    const Json* ids = token ? token->find("ids") : nullptr;
    if (const auto id = tokens_.find(name); id && !token) return {static_cast<TokenId>(*id)};
    if (!ids || !ids->is_array() || ids->empty() || ids->size() > kMaxIdsPerToken) {
      fail<FormatError>("{}: '{}' must have the ids of '{}'", printable_path(stage_.file()),
                        stage_.name("special_tokens"), printable(name));
    }
    std::vector<TokenId> all;
    for (const Json& id : *ids) all.push_back(checked("special_tokens", id));
    return all;
  }

  const JsonObject& stage_;
  const TokenizerFacts& tokens_;
};

TextForms forms_of(const JsonObject& stage, const TokenizerFacts& tokens) {
  const std::string type = stage.find_string("type").value_or("");
  const FormReader reader(stage, tokens);
  if (type == "TemplateProcessing") return reader.by_template();
  if (type == "BertProcessing") return reader.fixed(/*roberta=*/false);
  if (type == "RobertaProcessing") return reader.fixed(/*roberta=*/true);
  if (type != "ByteLevel") unsupported(stage, "type", stage.find("type"));
  return {};
}

}  // namespace

TextForms read_post_processor(const JsonObject& json, const TokenizerFacts& tokens) {
  TextForms forms;
  for (const JsonObject& stage : components(json, kPostProcessor)) {
    TextForms own = forms_of(stage, tokens);
    if (own.single.empty()) continue;
    if (!forms.single.empty()) unsupported(json, "post_processor", json.find("post_processor"));
    forms = std::move(own);
  }
  return forms;
}

}  // namespace weft::safetensors
