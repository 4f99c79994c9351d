// Encodes and decodes arbitrary bytes with a small vocabulary of each kind, and with a vocabulary
// that is itself arbitrary. Both must terminate, restore the text if every byte has a token, and
// give the same text when tokens are streamed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "weft/base/error.h"
#include "weft/tokenize/tokenizer.h"

#include "support/vocabulary.h"

namespace {

using namespace weft;

void require(bool ok) {
  if (!ok) std::abort();
}

std::string stream(const Tokenizer& tokenizer, const std::vector<TokenId>& ids,
                   const DecodeOptions& options) {
  Detokenizer detokenizer(tokenizer, {.decode = options});
  std::string text;
  for (const TokenId id : ids) text += detokenizer.push(id);
  return text += detokenizer.finish();
}

void check_text(const Tokenizer& tokenizer, std::string_view text, bool comes_back) {
  for (const bool special : {false, true}) {
    const std::vector<TokenId> ids =
        tokenizer.encode(text, {.add_special = false, .parse_special = special});
    for (const TokenId id : ids) require(id >= 0 && id < tokenizer.vocabulary().size());
    const DecodeOptions options{.show_special = special, .strip_space_prefix = true};
    const std::string whole = tokenizer.decode(ids, options);
    require(stream(tokenizer, ids, options) == whole);
    if (comes_back) require(whole == text);
  }
}

// Whether the text is one that the SentencePiece kind does not restore exactly.
bool changed_by_spaces(std::string_view text) {
  for (const char* mark : {"\xE2\x96\x81", "<tool>", "<s>", "</s>", "<unk>"}) {
    if (text.find(mark) != std::string_view::npos) return true;
  }
  return false;
}

// Kinds after the first two; their vocabularies have the same parts.
constexpr const char* kFurtherKinds[] = {"",       "bert",   "t5",         "rwkv",
                                         "plamo2", "gemma4", "whitespace", "hybriddna"};
constexpr const char* kFurtherRules[] = {"jais-2",     "kimi-k2", "superbpe",  "tiny_aya",
                                         "exaone-moe", "afmoe",   "chameleon", "youtu"};

// The first byte chooses kind and rule. Each token is a type, a score, a length and its bytes. The
// remaining bytes are the text.
void check_vocabulary(std::string_view data) {
  if (data.size() < 2) return;
  constexpr const char* kRules[] = {"default", "gpt-2",       "llama3",       "qwen35",
                                    "gpt-4o",  "deepseek-v3", "deepseek-llm", "falcon"};
  test::VocabularyBuilder builder;
  builder.parts.kind = (data[0] & 1) != 0 ? "llama" : "gpt2";
  builder.parts.pre = kRules[(data[0] >> 1) & 7];
  builder.parts.flags.add_space_prefix = (data[0] & 16) != 0;
  builder.parts.flags.prefix_once = (data[0] & 8) != 0;
  if (const int further = static_cast<std::uint8_t>(data[0]) >> 5; further > 0) {
    builder.parts.kind = kFurtherKinds[further];
    builder.parts.pre = kFurtherRules[(data[0] >> 1) & 7];
    builder.parts.flags.lowercase = builder.parts.flags.strip_accents = (data[0] & 2) != 0;
    builder.parts.flags.remove_extra_whitespaces = (data[0] & 4) != 0;
    if ((data[0] & 1) != 0) builder.parts.charsmap = data.substr(data.size() / 2);
  }
  const std::size_t n_tokens = static_cast<std::uint8_t>(data[1]);
  data.remove_prefix(2);
  std::string previous;
  for (std::size_t i = 0; i < n_tokens && data.size() > 2; ++i) {
    const std::size_t length =
        std::min<std::size_t>(static_cast<std::uint8_t>(data[2]) % 16, data.size() - 3);
    const std::string text(data.substr(3, length));
    builder.add(text, static_cast<TokenType>(static_cast<std::uint8_t>(data[0]) % 7),
                static_cast<float>(data[1]));
    if (i % 3 == 2) builder.merge(previous, text);
    previous = text;
    data.remove_prefix(3 + length);
  }
  builder.parts.special.unk = 0;
  builder.parts.special.bos = 300;
  try {
    check_text(*make_tokenizer(builder.build()), data, false);
  } catch (const Error&) {
  }
}

void check_further_kinds(std::string_view text) {
  static const auto plamo2 = make_tokenizer(test::plamo2_builder().build());
  static const auto gemma4 = make_tokenizer(test::gemma4_builder().build());
  static const auto rwkv = make_tokenizer(test::rwkv_builder().build());
  static const auto wordpiece = make_tokenizer(test::wordpiece_builder().build());
  static const auto unigram = make_tokenizer(test::unigram_builder().build());
  check_text(*plamo2, text, true);
  check_text(*gemma4, text, !changed_by_spaces(text));
  check_text(*rwkv, text, true);
  check_text(*wordpiece, text, false);
  check_text(*unigram, text, false);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto byte_level = make_tokenizer(test::byte_level_vocabulary("llama3"));
  static const auto successive = make_tokenizer(test::byte_level_vocabulary("deepseek-llm"));
  static const auto sentencepiece = make_tokenizer(test::sentencepiece_vocabulary());
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_text(*byte_level, text, true);
  check_text(*successive, text, true);
  check_text(*sentencepiece, text, !changed_by_spaces(text));
  check_further_kinds(text);
  check_vocabulary(text);
  return 0;
}
