#include "weft/tokenize/tokenizer.h"

#include <algorithm>
#include <random>
#include <thread>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/tokenize/token_healing.h"

#include "support/vocabulary.h"

namespace weft {
namespace {

using Ids = std::vector<TokenId>;
constexpr EncodeOptions kBare{.add_special = false};
constexpr EncodeOptions kBareSpecial{.add_special = false, .parse_special = true};

std::string random_bytes(std::mt19937& random, bool mostly_text) {
  static const std::vector<std::string> texts = {"hello",  " wor",       "aaaa",      " ",
                                                 "\n",     "12",         "\u2026",    "\u00E9",
                                                 "<tool>", "<|im_end|>", "\U0001F600"};
  std::string text;
  for (unsigned n = random() % 40; n > 0; --n) {
    if (mostly_text && random() % 8 != 0) {
      text += texts[random() % texts.size()];
    } else {
      text += static_cast<char>(random());
    }
  }
  return text;
}

TEST_CASE("byte-level BPE joins by rank, within pieces") {
  const auto t = make_tokenizer(test::byte_level_vocabulary());
  const auto id = [&](const char* text) { return t->vocabulary().find(text); };
  CHECK(t->encode("hello wor", kBare) == Ids{id("hello"), id("\xC4\xA0wor")});
  CHECK(t->encode("hell", kBare) == Ids{id("hell")});
  CHECK(t->encode("aaaaaaa", kBare) == Ids{id("aaaa"), id("aa"), 'a'});
  CHECK(t->encode("", kBare).empty());
  CHECK(t->warnings().empty());
}

TEST_CASE("SentencePiece joins by score, falls back to bytes, and puts a space in front") {
  const auto t = make_tokenizer(test::sentencepiece_vocabulary());
  const auto id = [&](const char* text) { return t->vocabulary().find(text); };
  CHECK(t->encode("hello") == Ids{1, id("\xE2\x96\x81hello")});
  CHECK(t->encode("") == Ids{1});
  CHECK(t->encode("z", kBare) == Ids{id("\xE2\x96\x81"), 3 + 'z'});
  CHECK(t->encode("\xFF", kBare) == Ids{id("\xE2\x96\x81"), 3 + 0xFF});
  // The pair at the left goes first among equals.
  CHECK(t->encode("aaa", kBare) == Ids{id("\xE2\x96\x81"), id("aa"), id("a")});
  // Ordinary text never becomes a control token.
  CHECK(t->encode("<s>", kBare) == Ids{id("\xE2\x96\x81"), 3 + '<', 3 + 's', 3 + '>'});
}

TEST_CASE("the token before a text is that of its form") {
  const auto opening = [](const TextForm& single, bool add_bos) {
    test::VocabularyBuilder b;
    b.parts.kind = "gpt2";
    b.parts.special = {.bos = 0};
    b.parts.flags.add_bos = add_bos;
    b.parts.forms.single = single;
    for (const char* text : {"<s>", "<t>", "a"}) b.add(text);
    return b.build()->opening();
  };
  const FormPart text{.what = FormPart::What::first};
  CHECK(opening({}, true) == 0);
  CHECK(opening({}, false) == kNoToken);
  CHECK(opening({{.id = 1}, {.id = 0}, text}, true) == 1);
  CHECK(opening({text, {.id = 1}}, true) == kNoToken);
}

TEST_CASE("special tokens: control ones on request, user-defined ones always, longer ones first") {
  const auto t = make_tokenizer(test::byte_level_vocabulary());
  const auto id = [&](const char* text) { return t->vocabulary().find(text); };
  CHECK(t->encode("a<|im_start|>b", kBareSpecial) == Ids{'a', id("<|im_start|>"), 'b'});
  const Ids plain = t->encode("<|im_start|>", kBare);
  CHECK(plain.size() > 1);
  CHECK(t->encode("<tool><tool><tool>", kBare) == Ids{id("<tool><tool>"), id("<tool>")});

  test::VocabularyBuilder b = test::byte_level_builder("gpt-2");
  const TokenId short_one = b.add("xy", TokenType::user_defined);
  const TokenId long_one = b.add("yzz", TokenType::user_defined);
  const auto overlapping = make_tokenizer(b.build());
  CHECK(overlapping->encode("xyzz", kBare) == Ids{'x', long_one});
  CHECK(overlapping->encode("xyz", kBare) == Ids{short_one, 'z'});
}

TEST_CASE("foreign stretches keep control tokens as text, and none reaches across a border") {
  const auto t = make_tokenizer(test::byte_level_vocabulary());
  const TokenId start = t->vocabulary().find("<|im_start|>");
  const TokenId tool = t->vocabulary().find("<tool>");
  const std::string text = "<|im_start|><|im_start|><tool><|im_start|>";
  const auto encode = [&](std::vector<TextRange> foreign) {
    return t->encode(text, {.add_special = false, .parse_special = true, .foreign = foreign});
  };
  const auto count = [](const Ids& ids, TokenId id) {
    return std::count(ids.begin(), ids.end(), id);
  };
  const Ids inner = encode({{12, 30}});
  CHECK(inner.front() == start);
  CHECK(inner.back() == start);
  CHECK(count(inner, start) == 2);
  CHECK(count(inner, tool) == 1);
  CHECK(t->decode(inner, {.show_special = true}) == text);
  CHECK(count(encode({{6, 6}}), start) == 2);  // the first one is cut in two
  CHECK(encode({{0, 0}, {42, 42}}) == encode({}));
  CHECK_THROWS_WITH_AS(encode({{0, 43}}), "bytes 0..43 are not a range of a text of 42 bytes",
                       ValueError);
  CHECK_THROWS_AS(encode({{5, 4}}), ValueError);
  CHECK_THROWS_AS(encode({{5, 9}, {8, 10}}), ValueError);
}

TEST_CASE("SentencePiece: text after a special token gets its space, too") {
  const auto t = make_tokenizer(test::sentencepiece_vocabulary());
  const TokenId hello = t->vocabulary().find("\xE2\x96\x81hello");
  CHECK(t->encode("<s>hello</s>hello", kBareSpecial) == Ids{1, hello, 2, hello});
}

TEST_CASE("any bytes are restored") {
  std::mt19937 random(11);
  for (const auto& vocabulary :
       {test::byte_level_vocabulary(), test::byte_level_vocabulary("llama-bpe"),
        test::byte_level_vocabulary("deepseek-coder"), test::byte_level_vocabulary("default"),
        test::sentencepiece_vocabulary()}) {
    const auto t = make_tokenizer(vocabulary);
    for (int round = 0; round < 2000; ++round) {
      const std::string text = random_bytes(random, round % 2 == 0);
      if (vocabulary->kind() == "llama" && text.find("<tool>") != std::string::npos)
        continue;  // puts a space behind it
      CAPTURE(text);
      REQUIRE(t->decode(t->encode(text), {.strip_space_prefix = true}) == text);
      const Ids special = t->encode(text, kBareSpecial);
      if (vocabulary->kind() == "gpt2") REQUIRE(t->decode(special, {.show_special = true}) == text);
    }
  }
}

TEST_CASE("streaming gives the whole text and never half a character") {
  std::mt19937 random(12);
  for (const auto& vocabulary : {test::byte_level_vocabulary(), test::sentencepiece_vocabulary()}) {
    const auto t = make_tokenizer(vocabulary);
    for (int round = 0; round < 1000; ++round) {
      Ids ids;
      for (unsigned n = random() % 30; n > 0; --n)
        ids.push_back(static_cast<TokenId>(random() % static_cast<unsigned>(vocabulary->size())));
      Detokenizer stream(*t);
      std::string streamed;
      for (const TokenId id : ids) streamed += stream.push(id);
      streamed += stream.finish();
      REQUIRE(streamed == t->decode(ids));
    }
    Detokenizer stream(*t);
    for (const char* text : {"\u00E9\u4E2D", "\U0001F600\u2026z"}) {
      for (const TokenId id : t->encode(text, kBare)) {
        const std::string_view out = stream.push(id);
        CHECK((out.empty() || (out.back() & 0xC0) != 0xC0));
        CHECK((out.empty() || (out.front() & 0xC0) != 0x80));
      }
      CHECK(stream.finish().empty());
    }
  }
}

TEST_CASE("an incomplete character is returned at the end, raw or replaced") {
  const auto t = make_tokenizer(test::byte_level_vocabulary());
  Detokenizer raw(*t);
  CHECK(raw.push(0xE2) == "");
  CHECK(raw.push(0x82) == "");
  CHECK(raw.finish() == "\xE2\x82");
  CHECK(raw.finish() == "");
  Detokenizer replaced(*t, {.invalid = Detokenizer::Invalid::replace});
  CHECK(replaced.push(0xFF) == "\uFFFD");
  CHECK(replaced.push(0xE2) == "");
  CHECK(replaced.push('a') ==
        "\uFFFD"
        "a");
  CHECK(replaced.push(0xE2) == "");
  CHECK(replaced.finish() == "\uFFFD");
  for (const TokenId byte : {0xF0, 0x9F, 0x98}) CHECK(replaced.push(byte) == "");
  CHECK(replaced.push('a') ==
        "\uFFFD"
        "a");
}

TEST_CASE("ids outside the vocabulary are rejected") {
  const auto t = make_tokenizer(test::byte_level_vocabulary());
  Detokenizer stream(*t);
  CHECK_THROWS_AS(stream.push(-1), ValueError);
  CHECK_THROWS_AS(stream.push(static_cast<TokenId>(t->vocabulary().size())), ValueError);
}

TEST_CASE("bytes without a token become the unknown token or are omitted") {
  test::VocabularyBuilder b;
  b.parts.kind = "gpt2";
  b.add("a");
  CHECK(make_tokenizer(b.build())->encode("abab", kBare) == Ids{0, 0});
  b.parts.special.unk = b.add("<unk>", TokenType::unknown);
  CHECK(make_tokenizer(b.build())->encode("aba", kBare) == Ids{0, 1, 0});
  b.parts.kind = "llama";
  CHECK(make_tokenizer(b.build())->encode("a\u4E2D", kBare) == Ids{0, 1});
}

TEST_CASE("defects of a vocabulary are worked around with a warning") {
  test::VocabularyBuilder b = test::byte_level_builder("no-such-rule");
  b.merge("nothing", "known");
  b.merge("nospace", "");
  const auto t = make_tokenizer(b.build());
  CHECK(t->warnings().size() == 2);
  CHECK(t->decode(t->encode("hello")) == "hello");
  test::VocabularyBuilder no_scores = test::sentencepiece_builder();
  no_scores.parts.scores.clear();
  CHECK_THROWS_AS(make_tokenizer(no_scores.build()), FormatError);
}

TEST_CASE("runs of a million equal characters and long texts are encoded in one go") {
  std::string prose;
  while (prose.size() < 2'000'000) prose += "hello wor hello, it is 12 \u00E9! ";
  for (const auto& vocabulary :
       {test::byte_level_vocabulary("llama3"), test::sentencepiece_vocabulary()}) {
    const auto t = make_tokenizer(vocabulary);
    for (const char c : {'a', ' ', 'z', '\n', '<'}) {
      const std::string run(1'000'000, c);
      CHECK(t->decode(t->encode(run, kBare), {.strip_space_prefix = true}) == run);
    }
    CHECK(t->decode(t->encode(prose, kBare), {.strip_space_prefix = true}) == prose);
  }
}

TEST_CASE("token healing: the last token of a prompt is chosen again among those that extend it") {
  const auto t = make_tokenizer(test::byte_level_vocabulary());
  const auto id = [&](const char* text) { return t->vocabulary().find(text); };
  Ids tokens = t->encode("a hell", kBare);
  const std::size_t n = tokens.size();
  REQUIRE(tokens.back() == id("hell"));
  TokenHealing healing(*t, tokens);
  CHECK(tokens.size() == n - 1);
  CHECK(healing.text() == "hell");
  std::vector<float> logits(static_cast<std::size_t>(t->vocabulary().size()), 1.0F), copy;
  const auto kept = healing.only_allowed(logits, copy);
  CHECK(std::count(kept.begin(), kept.end(), 1.0F) == 2);
  CHECK(kept[static_cast<std::size_t>(id("hell"))] == 1.0F);
  CHECK(kept[static_cast<std::size_t>(id("hello"))] == 1.0F);
  CHECK(healing.without_seen("hel") == "");
  CHECK(healing.without_seen("lo wor") == "o wor");
  CHECK(healing.without_seen("x") == "x");

  for (const Ids& as_they_are : {Ids{id("hell")}, Ids{'a', id("<|im_end|>")},
                                 Ids{'a', id("<tool>")}, Ids{'a', 'z'}, Ids{}}) {
    Ids same = as_they_are;
    CHECK(TokenHealing(*t, same).text().empty());
    CHECK(same == as_they_are);
  }
}

TEST_CASE("threads may share a tokenizer") {
  const auto t = make_tokenizer(test::sentencepiece_vocabulary());
  const Ids expected = t->encode("hello a aaa hello");
  std::vector<Ids> got(4);
  std::vector<std::thread> threads;
  for (Ids& ids : got) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) ids = t->encode("hello a aaa hello");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Ids& ids : got) CHECK(ids == expected);
}

}  // namespace
}  // namespace weft
