// The kinds of tokenizers beside byte-level BPE and SentencePiece's merges.
#include <algorithm>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/tokenize/space_symbol.h"
#include "weft/tokenize/tokenizer.h"

#include "byte_trie.h"
#include "support/vocabulary.h"
#include "unicode/charsmap.h"

namespace weft::tokenize {
namespace {

using Ids = std::vector<TokenId>;
constexpr EncodeOptions kBare{.add_special = false};

struct Texts {
  explicit Texts(test::VocabularyBuilder builder) : tokenizer(make_tokenizer(builder.build())) {}
  TokenId id(std::string_view text) const { return tokenizer->vocabulary().find(text); }
  Ids ids(std::initializer_list<std::string_view> texts) const {
    Ids out;
    for (const std::string_view text : texts) out.push_back(id(text));
    return out;
  }
  Ids encode(std::string_view text) const { return tokenizer->encode(text, kBare); }
  std::shared_ptr<const Tokenizer> tokenizer;
};

const std::string kSpace = "\xE2\x96\x81";

TEST_CASE(
    "WordPiece: the longest tokens from the left, unknown as a whole, between [CLS] and [SEP]") {
  const Texts t(test::wordpiece_builder());
  CHECK(t.encode("UNaffables") == t.ids({kSpace + "un", "aff", "able", "s"}));
  CHECK(t.encode("able") == t.ids({kSpace + "able"}));
  CHECK(t.encode("unx,  \u00E9!\n") == t.ids({"[UNK]", kSpace + ",", kSpace + "e", kSpace + "!"}));
  CHECK(t.encode("un\u4E2Dun") == t.ids({kSpace + "un", kSpace + "\u4E2D", kSpace + "un"}));
  CHECK(t.encode("u\u200Dn") == t.ids({kSpace + "un"}));  // a format character is not part of it
  CHECK(t.encode(std::string("u\0n", 3)) == t.ids({kSpace + "un"}));
  CHECK(t.encode("\u0130") == t.ids({kSpace + "i"}));
  CHECK(t.encode(" ").empty());
  CHECK(t.tokenizer->encode("e") == t.ids({"[CLS]", kSpace + "e", "[SEP]"}));
  CHECK(t.encode("un" + std::string(98, 's')).size() == 99);
  CHECK(t.encode("un" + std::string(99, 's')) == t.ids({"[UNK]"}));
  CHECK(t.tokenizer->decode(t.encode("unable, e")) == " unable , e");
}

TEST_CASE("WordPiece: Hangul is decomposed into letters, control characters leave no gap") {
  test::VocabularyBuilder b = test::wordpiece_builder();
  b.add(kSpace + "\u1112");
  for (const char* text : {"\u1161", "\u11AB", "\u1100", "\u1173", "\u11AF"}) b.add(text);
  const Texts t(b);
  CHECK(t.encode("\uD55C\uAE00") ==
        t.ids({kSpace + "\u1112", "\u1161", "\u11AB", "\u1100", "\u1173", "\u11AF"}));
  CHECK(t.encode("un\x0B\x0C"
                 "able") == t.ids({kSpace + "un", "able"}));
}

TEST_CASE("WordPiece: case and accents as the file says") {
  test::VocabularyBuilder b = test::wordpiece_builder();
  b.parts.flags.lowercase = b.parts.flags.strip_accents = false;
  b.add(kSpace + "\u00C9");
  const Texts t(b);
  CHECK(t.encode("\u00C9 E e") == t.ids({kSpace + "\u00C9", "[UNK]", kSpace + "e"}));
}

TEST_CASE("Unigram: the maximum sum of scores, one unknown token for characters in a row") {
  const Texts t(test::unigram_builder());
  CHECK(t.encode("ab") == t.ids({kSpace, "ab"}));
  CHECK(t.encode("abab") == t.ids({kSpace, "a", "bab"}));
  CHECK(t.encode("  a   b ") == t.ids({kSpace, "a", kSpace, "b"}));
  CHECK(t.encode("xyz a") == t.ids({kSpace, "<unk>", kSpace, "a"}));
  CHECK(t.encode("\xFF") == t.ids({kSpace, "<unk>"}));
  CHECK(t.encode("   ").empty());
  CHECK(t.tokenizer->encode("") == t.ids({"</s>"}));
}

TEST_CASE("Unigram: unknown characters become bytes if every byte has a token") {
  test::VocabularyBuilder b = test::builder_with_bytes("t5");
  b.parts.flags.remove_extra_whitespaces = false;
  b.add(kSpace, TokenType::normal, -1.0F);
  const Texts t(b);
  CHECK(t.encode(" \u00E9") == Ids{t.id(kSpace), 3 + 0xC3, 3 + 0xA9});
  CHECK(t.tokenizer->decode(t.encode("\u00E9 x  \u4E2D ")) == "\u00E9 x  \u4E2D ");
}

TEST_CASE("RWKV: the longest token, byte by byte, escapes read") {
  const Texts t(test::rwkv_builder());
  CHECK(t.encode("hello") == t.ids({"hello"}));
  CHECK(t.encode("hel\n\n\n") == t.ids({"he", "l", "\\n\\n", "\\x0a"}));
  CHECK(t.encode("\t\r\\'") == t.ids({"\\t\\r", "\\\\\\'"}));
  CHECK(t.encode("\u4E2D") == t.ids({"\\xe4\\xb8", "\\xad"}));
  CHECK(t.encode("<s>") == t.ids({"<", "s", ">"}));
}

TEST_CASE("PLaMo-2: fixed-point scores, the longer token of equally good ones, bytes otherwise") {
  const Texts t(test::plamo2_builder());
  CHECK(t.encode("abc") == t.ids({"ab", "c"}));
  CHECK(t.encode("\u4E2D\u6587\u6587") == Ids{t.id("\u4E2D\u6587"), 3 + 0xE6, 3 + 0x96, 3 + 0x87});
  CHECK(t.encode("\xE4\xB8") == Ids{3 + 0xE4, 3 + 0xB8});
  CHECK(t.encode("<s>") == Ids{3 + '<', 3 + 's', 3 + '>'});
  test::VocabularyBuilder b = test::plamo2_builder();
  b.add("b", TokenType::normal, -1.0F);
  CHECK(Texts(b).encode("ab") == Ids{t.id("ab")});  // as good as "a", "b"
}

TEST_CASE("PLaMo-2: tokens of a broken file that end inside a character are not used") {
  for (const char* token : {"\xE3", "\xE3\x81", "a\xE3"}) {
    test::VocabularyBuilder b = test::plamo2_builder();
    b.add(token, TokenType::normal, 0.0F);
    const Texts t(b);
    CHECK(t.encode("\u3042") == Ids{3 + 0xE3, 3 + 0x81, 3 + 0x82});
    CHECK(t.encode("a\u3042ab") == Ids{t.id("a"), 3 + 0xE3, 3 + 0x81, 3 + 0x82, t.id("ab")});
  }
}

TEST_CASE("Gemma 4: characters are merged, line ends apart from the rest") {
  const Texts t(test::gemma4_builder());
  CHECK(t.encode("abc abc") == t.ids({"a", "bc", kSpace + "a" + "bc"}));
  CHECK(t.encode("a\n\na\n\n\n") == t.ids({"a", "\n\n", "a", "\n", "\n", "\n"}));
  CHECK(t.encode("\u4E2D\u00E9") == Ids{t.id("\u4E2D"), 3 + 0xC3, 3 + 0xA9});
  CHECK(t.tokenizer->encode("a").front() == 1);
}

TEST_CASE("whitespace: characters are merged, white space is dropped") {
  test::VocabularyBuilder b = test::gemma4_builder();
  b.parts.kind = "whitespace";
  const Texts t(b);
  CHECK(t.encode(" abc \t ab\u3000") == t.ids({"a", "bc", "ab"}));
  b.parts.flags.lowercase = true;
  CHECK(Texts(b).encode("ABC") == t.ids({"a", "bc"}));
}

test::VocabularyBuilder hybrid_dna_builder(TokenType borders) {
  test::VocabularyBuilder b = test::byte_level_builder("gpt-2");
  b.parts.kind = "hybriddna";
  for (const char* text : {"<dna>", "</dna>"}) b.add(text, borders);
  for (const char* text : {"<oov>", "ACGTAC\xEE\x80\x80", "GTAAAA\xEE\x80\x80"}) b.add(text);
  return b;
}

TEST_CASE("hybriddna: the borders of a sequence are found regardless of their type") {
  for (const TokenType type : {TokenType::normal, TokenType::control, TokenType::user_defined}) {
    const Texts t(hybrid_dna_builder(type));
    for (const bool special : {false, true}) {
      CHECK(t.tokenizer->encode("he<dna>ACGTAC</dna>he",
                                {.add_special = false, .parse_special = special}) ==
            t.ids({"he", "<dna>", "ACGTAC\xEE\x80\x80", "</dna>", "he"}));
    }
  }
}

TEST_CASE("hybriddna: six letters of a sequence are a token") {
  const test::VocabularyBuilder b = hybrid_dna_builder(TokenType::normal);
  const Texts t(b);
  const Ids ids = t.encode("he<dna>acgtacGT</dna><dna>NACGTA");
  CHECK(ids == t.ids({"he", "<dna>", "ACGTAC\xEE\x80\x80", "GTAAAA\xEE\x80\x80", "</dna>", "<dna>",
                      "<oov>"}));
  CHECK(t.tokenizer->decode(ids) == "he<dna>ACGTACGTAAAA</dna><dna><oov>");
}

TEST_CASE("without merges, two tokens join if their joint text is a token, low ids first") {
  test::VocabularyBuilder b = test::byte_level_builder("kimi-k2");
  b.parts.merges.clear();
  const Texts t(b);
  CHECK(t.encode("hello") == t.ids({"hello"}));
  CHECK(t.encode("aaaaa") == t.ids({"aaaa", "a"}));
}

TEST_CASE("special tokens may absorb the white space around them") {
  test::VocabularyBuilder b = test::byte_level_builder("gpt-2");
  const TokenId left = b.add("<mask>", TokenType::user_defined);
  const TokenId right = b.add("<|stop|>", TokenType::user_defined);
  b.parts.strip_left = {left};
  b.parts.strip_right = {right};
  const Texts t(b);
  CHECK(t.encode("a \n<mask> b") == Ids{'a', left, t.id("\xC4\xA0"), 'b'});
  CHECK(t.encode("a<|stop|> \n <mask>") == Ids{'a', right, left});
}

TEST_CASE("any bytes are restored by every kind that has a token for each byte") {
  std::mt19937 random(13);
  const std::vector<std::string> parts = {"hello", "ab",   "abc",       " ",      "  ",
                                          "\n",    "\n\n", "\u4E2D",    "\u00E9", "\u4E2D\u6587",
                                          "\\",    "'",    "\U0001F600"};
  for (const auto& builder :
       {test::plamo2_builder(), test::gemma4_builder(), test::rwkv_builder()}) {
    const Texts t(builder);
    CAPTURE(t.tokenizer->vocabulary().kind());
    for (int round = 0; round < 1000; ++round) {
      std::string text;
      for (unsigned n = random() % 30; n > 0; --n)
        text += random() % 4 == 0 ? std::string(1, static_cast<char>(random()))
                                  : parts[random() % parts.size()];
      if (text.find(kSpace) != std::string::npos) continue;  // a space in the tokens of some
      CAPTURE(text);
      REQUIRE(t.tokenizer->decode(t.encode(text)) == text);
    }
  }
}

TEST_CASE("long texts and runs of one character take linear time, in every kind") {
  for (const auto& builder : {test::plamo2_builder(), test::gemma4_builder(), test::rwkv_builder(),
                              test::wordpiece_builder(), test::unigram_builder()}) {
    const Texts t(builder);
    CAPTURE(t.tokenizer->vocabulary().kind());
    for (const std::string unit : {"a", " ", "\n", "\u00E9", "abc "}) {
      std::string text;
      while (text.size() < 1'000'000) text += unit;
      CHECK_NOTHROW(t.encode(text));
    }
  }
}

TEST_CASE("tokens that are too long to be searched for are reported") {
  test::VocabularyBuilder b = test::rwkv_builder();
  b.add(std::string(ByteTrie::kMaxLength, 'a'));
  CHECK(Texts(b).tokenizer->warnings().empty());
  b.add(std::string(1'000'000, 'a'));
  const Texts t(b);
  REQUIRE(t.tokenizer->warnings().size() == 1);
  CHECK(t.encode(std::string(999'999, 'a')).size() == 976 + 575);
}

TEST_CASE("tries find every prefix") {
  const ByteTrie trie({{"a", 1}, {"abc", 2}, {"abcd", 3}, {"b", 4}, {"", 5}, {"a", 0}});
  std::vector<std::pair<std::size_t, std::int32_t>> found;
  trie.for_each_prefix("xabcx", 1,
                       [&](std::size_t n, std::int32_t v) { found.emplace_back(n, v); });
  CHECK(found == decltype(found){{1, 1}, {3, 2}});
  CHECK(trie.longest_prefix("abcd", 0).value == 3);
  CHECK(trie.longest_prefix("c", 0).length == 0);
  CHECK(trie.max_length() == 4);
  CHECK(ByteTrie().longest_prefix("a", 0).length == 0);
}

TEST_CASE("character maps: broken ones are rejected, sentence ends and spaces are normalized") {
  const auto le = [](std::uint32_t v) {
    std::string s;
    for (int i = 0; i < 4; ++i) s += static_cast<char>(v >> (8 * i));
    return s;
  };
  CHECK_THROWS_AS(Charsmap("ab"), FormatError);
  CHECK_THROWS_AS(Charsmap(le(8) + "abcd"), FormatError);
  CHECK_THROWS_AS(Charsmap(le(4) + le(0) + std::string(2000, 'x')), FormatError);
  const Charsmap beyond(le(4) + le(77u << 10) + std::string("x\0", 2));
  CHECK_THROWS_AS(beyond.longest("a", 0), FormatError);
  // 'a' becomes "bb": root, its child at 'a', and the leaf behind that.
  std::string units;
  for (std::uint32_t i = 0; i < 256; ++i) {
    units += le(i == 0                 ? 1u << 10
                : i == (1u ^ 'a')      ? 'a' | 1u << 8 | 2u << 10
                : i == (1u ^ 'a' ^ 2u) ? 1u << 31
                                       : 0xFFu);
  }
  const Charsmap map(le(1024) + units + std::string("bb\0", 3));
  CHECK(normalize(map, {}, "xa") == "xbb");
  CHECK(normalize(map, {.space_prefix = true, .remove_extra_spaces = true}, "  x  a ") ==
        kSpace + "x" + kSpace + "bb");
  CHECK(normalize(Charsmap(), {.space_prefix = true}, "\xFF ") == kSpace + "\uFFFD" + kSpace);
  CHECK(normalize(map, {}, "aaa", 6) == "bbbbbb");
  CHECK_THROWS_AS(normalize(map, {}, "aaa", 5), ValueError);
}

TEST_CASE("texts whose offsets would overflow are rejected") {
  CHECK(with_space_symbols("a b", true, 8) == kSpace + "a" + kSpace + "b");
  CHECK_THROWS_AS(with_space_symbols("a b", true, 7), ValueError);
  CHECK_THROWS_AS(normalize(Charsmap(), {}, "a b", 4), ValueError);
  CHECK_THROWS_AS(normalize(Charsmap(), {.space_prefix = true}, "\xFF", 5), ValueError);
}

TEST_CASE("texts that lead to a broken place of a character map are rejected") {
  test::VocabularyBuilder b = test::unigram_builder();
  b.parts.charsmap = std::string("\4\0\0\0\0\x34\1\0x\0", 10);
  const Texts t(b);
  CHECK_THROWS_AS(t.encode("a"), FormatError);
}

TEST_CASE("kinds that need scores say so") {
  for (auto builder : {test::unigram_builder(), test::plamo2_builder()}) {
    builder.parts.scores.clear();
    CHECK_THROWS_AS(make_tokenizer(builder.build()), FormatError);
  }
}

}  // namespace
}  // namespace weft::tokenize
