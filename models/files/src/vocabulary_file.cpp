#include "weft/files/vocabulary_file.h"

#include <limits>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/text.h"
#include "weft/files/checkpoint.h"
#include "weft/files/weft_keys.h"
#include "weft/tokenize/pipeline.h"
#include "weft/tokenize/tokenizer_kinds.h"
#include "weft/tokenize/vocabulary.h"

#include "safetensors/tokenizer/pipeline_json.h"

namespace weft {
namespace {

// Some ids have two keys in use.
constexpr std::pair<const char*, TokenId SpecialTokens::*> kIdKeys[] = {
    {"bos_token_id", &SpecialTokens::bos},         {"eos_token_id", &SpecialTokens::eos},
    {"eot_token_id", &SpecialTokens::eot},         {"eom_token_id", &SpecialTokens::eom},
    {"unknown_token_id", &SpecialTokens::unk},     {"separator_token_id", &SpecialTokens::sep},
    {"seperator_token_id", &SpecialTokens::sep},   {"padding_token_id", &SpecialTokens::pad},
    {"cls_token_id", &SpecialTokens::cls},         {"mask_token_id", &SpecialTokens::mask},
    {"prefix_token_id", &SpecialTokens::fim_pre},  {"fim_pre_token_id", &SpecialTokens::fim_pre},
    {"suffix_token_id", &SpecialTokens::fim_suf},  {"fim_suf_token_id", &SpecialTokens::fim_suf},
    {"middle_token_id", &SpecialTokens::fim_mid},  {"fim_mid_token_id", &SpecialTokens::fim_mid},
    {"fim_pad_token_id", &SpecialTokens::fim_pad}, {"fim_rep_token_id", &SpecialTokens::fim_rep},
    {"fim_sep_token_id", &SpecialTokens::fim_sep},
};

constexpr std::pair<const char*, bool TokenizerFlags::*> kFlagKeys[] = {
    {"add_bos_token", &TokenizerFlags::add_bos},
    {"add_eos_token", &TokenizerFlags::add_eos},
    {"add_sep_token", &TokenizerFlags::add_sep},
    {"add_space_prefix", &TokenizerFlags::add_space_prefix},
    {"remove_extra_whitespaces", &TokenizerFlags::remove_extra_whitespaces},
    {"normalizer.lowercase", &TokenizerFlags::lowercase},
    {"normalizer.strip_accents", &TokenizerFlags::strip_accents},
};

std::string key(std::string_view name) {
  return fmt::format("tokenizer.ggml.{}", name);
}

bool without_tokenizer(std::string_view kind) {
  return kind.empty() || kind == "none" || kind == "no_vocab";
}

std::vector<TokenType> read_types(const Checkpoint& file, std::vector<std::string>& warnings) {
  std::vector<TokenType> types;
  const auto numbers = file.find_ints(key("token_type"));
  if (!numbers) return types;
  types.reserve(numbers->size());
  std::size_t n_unknown = 0;
  for (const std::int64_t number : *numbers) {
    const bool known = number >= 0 && number <= static_cast<std::int64_t>(TokenType::byte);
    if (!known) ++n_unknown;
    types.push_back(known ? static_cast<TokenType>(number) : TokenType::undefined);
  }
  if (n_unknown > 0)
    warnings.push_back(
        fmt::format("{} tokens have an unknown type and are treated as normal tokens", n_unknown));
  return types;
}

std::string read_charsmap(const Checkpoint& file) {
  const auto numbers = file.find_ints(key("precompiled_charsmap"));
  std::string bytes;
  if (!numbers) return bytes;
  bytes.reserve(numbers->size());
  for (const std::int64_t number : *numbers) {
    if (number < -128 || number > 255) {
      fail<FormatError>("{}: {} holds {}, which is not a byte", file.path(),
                        key("precompiled_charsmap"), number);
    }
    bytes += static_cast<char>(number);
  }
  return bytes;
}

void read_special_ids(const Checkpoint& file, std::int64_t n_tokens, VocabularyParts& parts) {
  for (const auto& [name, member] : kIdKeys) {
    const auto id = file.find_int(key(name));
    if (!id) continue;
    if (*id >= 0 && *id < n_tokens) {
      parts.special.*member = static_cast<TokenId>(*id);
    } else {
      parts.special.*member = kNoToken;
      parts.warnings.push_back(fmt::format(
          "{} {} is outside the vocabulary of {} tokens and is ignored", key(name), *id, n_tokens));
    }
  }
}

// Defaults are guesses for files without these keys: ids that do not exist are dropped without a
// warning.
void apply_defaults(std::int64_t n_tokens, VocabularyParts& parts) {
  const TokenizerKind* kind = find_tokenizer_kind(parts.kind);
  if (kind == nullptr) return;
  const KindDefaults defaults = kind->defaults(kind->rule.empty() ? parts.pre : kind->rule);
  parts.flags = defaults.flags;
  parts.special = defaults.special;
  for (const auto& [name, member] : kIdKeys) {
    if (parts.special.*member >= n_tokens) parts.special.*member = kNoToken;
  }
}

// Files do not say which special tokens absorb the white space around them. These rows know it from
// the name of the pre-tokenizer rule, or, if that is ambiguous, from the name of the model. The
// first matching row counts.
struct Stripping {
  const char* key;
  std::string_view part;  // must occur in its value in lower case
  // This token absorbs the white space before it. Empty: every special token but three absorbs the
  // white space after it.
  std::string_view token;
};

constexpr Stripping kStripping[] = {
    {"tokenizer.ggml.pre", "jina-v2-de", "<mask>"},
    {"tokenizer.ggml.pre", "jina-v2-es", "<mask>"},
    {"tokenizer.ggml.pre", "jina-v2-code", "<mask>"},
    {"tokenizer.ggml.pre", "modern-bert", "[MASK]"},
    {"general.architecture", "nomic-bert-moe", "<mask>"},
    {"general.architecture", "jina-bert-v3", "<mask>"},
    {"general.name", "phi-3", ""},
    {"general.name", "phi3", ""},
};

const Stripping* find_stripping(const Checkpoint& file) {
  for (const Stripping& row : kStripping) {
    const std::string value = to_lower(file.find_string(row.key).value_or(""));
    if (value.find(row.part) != value.npos) return &row;
  }
  return nullptr;
}

// The ids under that key, if the file has it.
bool read_token_list(const Checkpoint& file, std::string_view key, std::size_t n_tokens,
                     std::vector<TokenId>& ids) {
  const auto found = file.find_ints(key);
  if (!found) return false;
  for (const std::int64_t id : *found) {
    if (id < 0 || id >= static_cast<std::int64_t>(n_tokens))
      fail<FormatError>("{}: {} names token {} of {}", file.path(), key, id, n_tokens);
    ids.push_back(static_cast<TokenId>(id));
  }
  return true;
}

void find_stripping_tokens(const Checkpoint& file, VocabularyParts& parts) {
  const std::size_t n = parts.tokens.size();
  const bool left = read_token_list(file, kStripLeftKey, n, parts.strip_left);
  const bool right = read_token_list(file, kStripRightKey, n, parts.strip_right);
  if (left || right) return;
  const Stripping* row = find_stripping(file);
  if (row == nullptr) return;
  for (std::size_t i = 0; i < parts.tokens.size(); ++i) {
    const std::string_view text = parts.tokens[i];
    const auto id = static_cast<TokenId>(i);
    if (!row->token.empty()) {
      if (text == row->token) parts.strip_left.push_back(id);
      continue;
    }
    const TokenType type = i < parts.types.size() ? parts.types[i] : TokenType::normal;
    const bool special = type == TokenType::control || type == TokenType::user_defined;
    if (special && text != "<unk>" && text != "<s>" && text != "<|endoftext|>")
      parts.strip_right.push_back(id);
  }
}

// The form under these keys; empty if the file has none.
TextForm read_form(const Checkpoint& file, std::string_view key, std::string_view types_key) {
  TextForm form;
  const auto parts = file.find_ints(key), types = file.find_ints(types_key);
  if (!parts) return form;
  if (types && types->size() != parts->size()) {
    fail<FormatError>("{}: {} has {} types for {} parts", file.path(), types_key, types->size(),
                      parts->size());
  }
  const auto number = [&](std::int64_t value) {
    if (value > INT32_MAX || value < kSecondText)
      fail<FormatError>("{}: {} holds {}, which is not a part of a form", file.path(), key, value);
    return static_cast<std::int32_t>(value);
  };
  for (std::size_t i = 0; i < parts->size(); ++i) {
    FormPart part{.id = number((*parts)[i]), .type = types ? number((*types)[i]) : 0};
    if (part.id == kFirstText) part.what = FormPart::What::first;
    if (part.id == kSecondText) part.what = FormPart::What::second;
    form.push_back(part);
  }
  return form;
}

void read_own_keys(const Checkpoint& file, VocabularyParts& parts) {
  read_token_list(file, kWholeWordsKey, parts.tokens.size(), parts.whole_words);
  read_token_list(file, kMoreEndsKey, parts.tokens.size(), parts.more_ends);
  parts.flags.prefix_once = file.find_bool(kPrefixOnceKey).value_or(false);
  parts.forms = {read_form(file, kTextFormKey, kTextTypesKey),
                 read_form(file, kPairFormKey, kPairTypesKey)};
  parts.forms.no_pair = parts.forms.pair.empty() && file.find(kPairFormKey) != nullptr;
}

std::vector<double> read_pipeline_scores(const Checkpoint& file) {
  const MetaValue* value = file.find(kPipelineScoresKey);
  const MetaArray* array = value ? as_array(*value) : nullptr;
  const auto* scores = array ? std::get_if<std::vector<double>>(&array->values) : nullptr;
  return scores ? *scores : std::vector<double>();
}

void read_pipeline_key(const Checkpoint& file, VocabularyParts& parts) {
  const auto text = file.find_string(kPipelineKey);
  if (!text) return;
  const std::string name = fmt::format("{}: {}", file.path(), kPipelineKey);
  const safetensors::Json json = safetensors::parse_json(*text, name);
  parts.pipeline = std::make_shared<const TokenizerPipeline>(
      safetensors::read_pipeline(safetensors::JsonObject(json, name), parts.tokens.size(),
                                 parts.charsmap, read_pipeline_scores(file)));
}

// Adds BOS if the kind needs it although the file does not ask for it.
void force_bos(VocabularyParts& parts) {
  const TokenizerKind* kind = find_tokenizer_kind(parts.kind);
  if (kind == nullptr || !kind->needs_bos || parts.flags.add_bos) return;
  parts.flags.add_bos = true;
  parts.warnings.push_back(
      fmt::format("{} is false, but a vocabulary of kind '{}' needs a BOS: it is added",
                  key("add_bos_token"), parts.kind));
}

std::int64_t read_bare_size(const Checkpoint& file) {
  const auto arch = file.find_string("general.architecture");
  if (!arch) return 0;
  const std::string name = fmt::format("{}.vocab_size", *arch);
  const std::uint64_t size = file.find_uint(name).value_or(0);
  if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) {
    fail<FormatError>("{}: {} is {}, more than 2^31 - 1", file.path(), name, size);
  }
  return static_cast<std::int64_t>(size);
}

}  // namespace

std::shared_ptr<const Vocabulary> read_vocabulary(const Checkpoint& file) {
  VocabularyParts parts;
  parts.kind = file.find_string(key("model")).value_or("none");
  parts.pre = file.find_string(key("pre")).value_or("");
  parts.chat_template = file.find_string("tokenizer.chat_template").value_or("");
  parts.tool_template = file.find_string(kToolTemplateKey).value_or("");
  if (without_tokenizer(parts.kind)) {
    parts.n_tokens = read_bare_size(file);
    read_special_ids(file, parts.n_tokens, parts);
    return std::make_shared<const Vocabulary>(std::move(parts));
  }

  auto tokens = file.find_strings(key("tokens"));
  if (!tokens || tokens->empty()) {
    fail<FormatError>("{}: tokenizer.ggml.model is '{}', but tokenizer.ggml.tokens is missing",
                      file.path(), parts.kind);
  }
  parts.tokens = std::move(*tokens);
  parts.scores = file.find_floats(key("scores")).value_or(std::vector<float>{});
  parts.types = read_types(file, parts.warnings);
  parts.merges = file.find_strings(key("merges")).value_or(std::vector<std::string_view>{});
  const auto n_tokens = static_cast<std::int64_t>(parts.tokens.size());
  apply_defaults(n_tokens, parts);
  read_special_ids(file, n_tokens, parts);
  for (const auto& [name, member] : kFlagKeys)
    parts.flags.*member = file.find_bool(key(name)).value_or(parts.flags.*member);
  // By default accents are stripped if letters are lowercased.
  if (!file.find_bool(key("normalizer.strip_accents")))
    parts.flags.strip_accents = parts.flags.lowercase;
  parts.charsmap = read_charsmap(file);
  find_stripping_tokens(file, parts);
  read_own_keys(file, parts);
  read_pipeline_key(file, parts);
  force_bos(parts);
  try {
    return std::make_shared<const Vocabulary>(std::move(parts));
  } catch (const FormatError& error) {
    fail<FormatError>("{}: {}", file.path(), error.what());
  }
}

}  // namespace weft
