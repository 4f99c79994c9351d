#include "safetensors/tokenizer/special_tokens.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <vector>

#include "weft/base/error.h"
#include "weft/files/checkpoint.h"
#include "weft/files/weft_keys.h"
#include "weft/tokenize/tokenizer_kinds.h"

#include "safetensors/optional_file.h"

namespace weft::safetensors {
namespace {

using What = FormPart::What;

struct Token {
  std::string_view hf_name, hf_id, gguf_id;
  TokenId SpecialTokens::*member;
  std::string_view usual;  // its text in vocabularies for encoders
};
// GGUF files spell the key of the separator like this.
constexpr Token kTokens[] = {
    {"bos_token", "bos_token_id", "bos", &SpecialTokens::bos, ""},
    {"pad_token", "pad_token_id", "padding", &SpecialTokens::pad, "[PAD]"},
    {"cls_token", "cls_token_id", "cls", &SpecialTokens::cls, "[CLS]"},
    {"sep_token", "sep_token_id", "seperator", &SpecialTokens::sep, "[SEP]"},
    {"mask_token", "mask_token_id", "mask", &SpecialTokens::mask, "[MASK]"},
    {"eos_token", "eos_token_id", "eos", &SpecialTokens::eos, ""},
};

// These classes let add_bos_token and add_eos_token decide alone, and have a BOS if no file says
// anything. Source: tokenization_*_fast.py of transformers 4.
constexpr std::string_view kWriteForms[] = {
    "LlamaTokenizer", "LlamaTokenizerFast", "CodeLlamaTokenizer", "CodeLlamaTokenizerFast",
    "GemmaTokenizer", "GemmaTokenizerFast", "CohereTokenizer",    "CohereTokenizerFast"};

// Nothing for null and for numbers below 0.
std::optional<TokenId> to_id(const JsonObject& json, std::string_view key, const Json& value) {
  if (value.is_number_integer() && value.get<std::int64_t>() < 0) return std::nullopt;
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT32_MAX)
    json.mismatch(key, "a token id");
  return value.get<TokenId>();
}

// One id or a list of them.
std::vector<TokenId> find_ids(const JsonObject& json, std::string_view key) {
  const Json* value = json.find(key);
  std::vector<TokenId> ids;
  if (!value) return ids;
  const auto add = [&](const Json& one) {
    if (const auto id = to_id(json, key, one)) ids.push_back(*id);
  };
  if (!value->is_array()) {
    add(*value);
  } else {
    for (const Json& one : *value) add(one);
  }
  return ids;
}

// The id of a token given by its text, which may be in an object with facts about it; nothing if no
// token has the text.
std::optional<TokenId> find_named(const JsonObject& json, std::string_view key,
                                  const TokenizerFacts& tokenizer) {
  const Json* value = json.find(key);
  if (!value) return std::nullopt;
  const auto text = value->is_object()
                        ? JsonObject(*value, json.file(), std::string(key)).find_string("content")
                        : json.find_string(key);
  return text ? tokenizer.find(*text) : std::nullopt;
}

using Ids = std::vector<TokenId>;

// The form of one text, of type `type`.
TextForm around(const Ids& opening, What text, const Ids& closing, std::int32_t type) {
  TextForm form;
  for (const TokenId id : opening) form.push_back({.id = id, .type = type});
  form.push_back({.what = text, .type = type});
  for (const TokenId id : closing) form.push_back({.id = id, .type = type});
  return form;
}

class Reader {
 public:
  Reader(const std::string& directory, const JsonObject& config, const JsonObject& named,
         const TokenizerFacts& tokenizer, MetadataSink& writer)
      : config_(config),
        named_(named),
        map_file_(directory, "special_tokens_map.json"),
        generation_file_(directory, "generation_config.json"),
        generation_(generation_file_.object()),
        tokenizer_(tokenizer),
        kind_(find_tokenizer_kind(tokenizer.kind)),
        writer_(writer) {}

  void read() {
    for (const Token& token : kTokens) special_.*token.member = find(token);
    find_ends();
    forms_ = wanted_forms();
    name_by_form();
    for (const Token& token : kTokens) {
      if (const TokenId id = special_.*token.member; id != kNoToken)
        writer_.add_u32(fmt::format("tokenizer.ggml.{}_token_id", token.gguf_id),
                        static_cast<std::uint32_t>(id));
    }
    write_ends();
    write_forms();
  }

 private:
  bool for_encoders() const { return kind_ && kind_->for_encoders; }

  TokenId find(const Token& token) const {
    for (const JsonObject& json : {named_, map_file_.object()}) {
      if (const auto id = find_named(json, token.hf_name, tokenizer_)) return *id;
    }
    for (const JsonObject* json : {&generation_, &config_}) {
      const Ids ids = find_ids(*json, token.hf_id);
      if (!ids.empty()) return ids.front();
    }
    if (for_encoders() && !token.usual.empty())
      return tokenizer_.find(token.usual).value_or(kNoToken);
    return kNoToken;
  }

  void find_ends() {
    ends_ = find_ids(generation_, "eos_token_id");
    std::ranges::copy(find_ids(config_, "eos_token_id"), std::back_inserter(ends_));
  }

  // The forms of the post-processor. If the class of the tokenizer writes its own, those.
  TextForms wanted_forms() const {
    const bool silent = tokenizer_.forms.single.empty();
    const TextForms forms =
        silent ? TextForms{{{.what = What::first}}, {{.what = What::first}, {.what = What::second}}}
               : tokenizer_.forms;
    Ids opening = tokens_before(forms.single), closing = tokens_after(forms.single);
    const bool writes =
        std::ranges::count(kWriteForms, named_.find_string("tokenizer_class").value_or("")) > 0;
    const bool changes_opening =
        change(named_.find_bool("add_bos_token"), writes, silent && writes, special_.bos, opening);
    const bool changes_closing =
        change(named_.find_bool("add_eos_token"), writes, false, special_.eos, closing);
    if (!changes_opening && !changes_closing) return forms;
    TextForm pair = around(opening, What::first, closing, 0);
    std::ranges::copy(around(opening, What::second, closing, 1), std::back_inserter(pair));
    return {around(opening, What::first, closing, 0), std::move(pair)};
  }

  // Whether `add` changes the tokens on a side of a text.
  static bool change(std::optional<bool> add, bool may_remove, bool otherwise, TokenId id,
                     Ids& side) {
    const bool wanted = add.value_or(otherwise || !side.empty());
    if (wanted && side.empty() && id != kNoToken) {
      side = {id};
      return true;
    }
    if (wanted || side.empty() || !may_remove) return false;
    side.clear();
    return true;
  }

  // Tokens that no file names are those that the post-processor adds. A text's only closing token
  // is its EOS for other programs, which cannot read forms.
  void name_by_form() {
    const Ids opening = tokens_before(forms_.single), closing = tokens_after(forms_.single);
    TokenId& first = for_encoders() ? special_.cls : special_.bos;
    if (first == kNoToken && !opening.empty()) first = opening.front();
    if (for_encoders()) {
      if (special_.sep == kNoToken && !closing.empty()) special_.sep = closing.front();
    } else if (closing.size() == 1 && closing.front() != special_.eos) {
      if (special_.eos != kNoToken) ends_.push_back(special_.eos);
      special_.eos = closing.front();
    }
  }

  void write_ends() {
    std::ranges::sort(ends_);
    ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
    std::erase(ends_, special_.eos);
    if (!ends_.empty())
      writer_.add_u32("tokenizer.ggml.eot_token_id", static_cast<std::uint32_t>(ends_[0]));
    if (ends_.size() > 1)
      writer_.add_u32("tokenizer.ggml.eom_token_id", static_cast<std::uint32_t>(ends_[1]));
    std::vector<TokenId> more(ends_.begin() + std::min<std::ptrdiff_t>(2, std::ssize(ends_)),
                              ends_.end());
    std::erase_if(more, [&](TokenId id) { return id >= std::ssize(tokenizer_.ids); });
    if (!more.empty()) writer_.add_i32s(kMoreEndsKey, more);
  }

  // The ids that a reader of the file assumes.
  SpecialTokens assumed() const {
    SpecialTokens ids = kind_ ? kind_->defaults("").special : SpecialTokens();
    for (const Token& token : kTokens) {
      TokenId& id = ids.*token.member;
      if (id >= static_cast<TokenId>(tokenizer_.n_vocab)) id = kNoToken;
      if (special_.*token.member != kNoToken) id = special_.*token.member;
    }
    return ids;
  }

  // Writes the flags that imply the forms; a form that no flags imply becomes a list, which only
  // Weft reads.
  void write_forms() {
    const SpecialTokens ids = assumed();
    const Ids opening = tokens_before(forms_.single), closing = tokens_after(forms_.single);
    TokenizerFlags flags{.add_bos = !opening.empty() && opening.front() == ids.bos,
                         .add_eos = !closing.empty() && closing.front() == ids.eos};
    TextForms implied = default_forms(tokenizer_.kind, flags, ids);
    for (int bits = 0; bits < 8 && implied != forms_; ++bits) {
      const TokenizerFlags other{
          .add_bos = (bits & 1) != 0, .add_eos = (bits & 2) != 0, .add_sep = (bits & 4) != 0};
      TextForms its = default_forms(tokenizer_.kind, other, ids);
      if (its.single != forms_.single) continue;
      if (its.pair != forms_.pair && implied.single == forms_.single) continue;
      flags = other;
      implied = std::move(its);
    }
    writer_.add_bool("tokenizer.ggml.add_bos_token", flags.add_bos);
    writer_.add_bool("tokenizer.ggml.add_eos_token", flags.add_eos);
    if (for_encoders() || flags.add_sep)
      writer_.add_bool("tokenizer.ggml.add_sep_token", flags.add_sep);
    if (implied.single != forms_.single) write_form(kTextFormKey, kTextTypesKey, forms_.single);
    if (forms_.no_pair || (implied.pair != forms_.pair && !forms_.pair.empty()))
      write_form(kPairFormKey, kPairTypesKey, forms_.pair);
  }

  void write_form(const char* key, const char* types_key, const TextForm& form) {
    std::vector<std::int32_t> parts, types;
    for (const FormPart& part : form) {
      parts.push_back(part.what == What::token   ? part.id
                      : part.what == What::first ? kFirstText
                                                 : kSecondText);
      types.push_back(part.type);
    }
    writer_.add_i32s(key, parts);
    if (std::ranges::any_of(types, [](std::int32_t type) { return type != 0; }))
      writer_.add_i32s(types_key, types);
  }

  const JsonObject& config_;
  const JsonObject& named_;
  const OptionalFile map_file_, generation_file_;
  const JsonObject generation_;
  const TokenizerFacts& tokenizer_;
  const TokenizerKind* kind_;
  MetadataSink& writer_;
  SpecialTokens special_;
  Ids ends_;  // tokens that end a reply, besides the EOS
  TextForms forms_;
};

}  // namespace

void read_special_tokens(const std::string& directory, const JsonObject& config,
                         const JsonObject& tokenizer_config, const TokenizerFacts& tokenizer,
                         MetadataSink& writer) {
  Reader(directory, config, tokenizer_config, tokenizer, writer).read();
}

}  // namespace weft::safetensors
