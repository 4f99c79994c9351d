// Vocabulary::from_gguf: the keys tokenizer.* of a GGUF file.

#include <limits>
#include <utility>

#include "weft/graph/error.h"
#include "weft/models/gguf.h"
#include "weft/models/vocabulary.h"

#include "text/tokenizer_kinds.h"

namespace weft {
namespace {

// Some ids have two spellings in use.
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
};

std::string key(std::string_view name) {
  return fmt::format("tokenizer.ggml.{}", name);
}

bool without_tokenizer(std::string_view kind) {
  return kind.empty() || kind == "none" || kind == "no_vocab";
}

std::vector<TokenType> read_types(const GgufFile& file, std::vector<std::string>& warnings) {
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
        fmt::format("{} tokens have an unknown type and are taken as ordinary ones", n_unknown));
  return types;
}

void read_special_ids(const GgufFile& file, std::int64_t n_tokens, VocabularyParts& parts) {
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

// Defaults are guesses about files that do not say: ids that do not exist are dropped without a
// word.
void apply_defaults(std::int64_t n_tokens, VocabularyParts& parts) {
  const TokenizerKind* kind = find_tokenizer_kind(parts.kind);
  if (kind == nullptr) return;
  const KindDefaults defaults = kind->defaults(parts.pre);
  parts.flags = defaults.flags;
  parts.special = defaults.special;
  for (const auto& [name, member] : kIdKeys) {
    if (parts.special.*member >= n_tokens) parts.special.*member = kNoToken;
  }
}

std::int64_t read_bare_size(const GgufFile& file) {
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

std::shared_ptr<const Vocabulary> Vocabulary::from_gguf(const GgufFile& file) {
  VocabularyParts parts;
  parts.kind = file.find_string(key("model")).value_or("none");
  parts.pre = file.find_string(key("pre")).value_or("");
  parts.chat_template = file.find_string("tokenizer.chat_template").value_or("");
  if (without_tokenizer(parts.kind)) {
    parts.n_tokens = read_bare_size(file);
    read_special_ids(file, parts.n_tokens, parts);
    return std::make_shared<const Vocabulary>(std::move(parts));
  }

  auto tokens = file.find_strings(key("tokens"));
  if (!tokens || tokens->empty()) {
    fail<FormatError>("{}: tokenizer.ggml.model is '{}', but there are no tokenizer.ggml.tokens",
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
  try {
    return std::make_shared<const Vocabulary>(std::move(parts));
  } catch (const FormatError& error) {
    fail<FormatError>("{}: {}", file.path(), error.what());
  }
}

}  // namespace weft
