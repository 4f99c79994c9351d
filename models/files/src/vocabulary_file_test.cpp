#include "weft/files/vocabulary_file.h"

#include <functional>
#include <limits>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/files/checkpoint.h"
#include "weft/files/gguf_writer.h"
#include "weft/tokenize/tokenizer.h"
#include "weft/tokenize/vocabulary.h"

#include "support/vocabulary.h"

namespace weft {
namespace {

using Strings = std::vector<std::string>;

std::shared_ptr<const Vocabulary> read(const std::function<void(GgufWriter&)>& fill) {
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  fill(writer);
  const std::vector<std::byte> bytes = writer.to_bytes();
  return read_vocabulary(Checkpoint::parse(bytes, "test.gguf"));
}

void add_tokens(GgufWriter& w, const std::string& kind, const Strings& tokens) {
  w.add_string("tokenizer.ggml.model", kind);
  w.add_strings("tokenizer.ggml.tokens", tokens);
}

TEST_CASE("a file without a tokenizer has ids only") {
  const auto v = read([](GgufWriter& w) {
    w.add_string("tokenizer.ggml.model", "no_vocab");
    w.add_u32("llama.vocab_size", 320);
  });
  CHECK(v->size() == 320);
  CHECK_FALSE(v->has_texts());
  CHECK_THROWS_AS(make_tokenizer(v), UnsupportedError);
  CHECK(read([](GgufWriter&) {})->size() == 0);
}

TEST_CASE("defaults depend on the kind, keys override them") {
  const auto spm = read([](GgufWriter& w) {
    add_tokens(w, "llama", {"<unk>", "<s>", "</s>", "a"});
  });
  CHECK(spm->flags().add_bos);
  CHECK(spm->flags().add_space_prefix);
  CHECK(spm->special().bos == 1);
  CHECK(spm->special().eos == 2);
  CHECK(spm->special().unk == 0);
  const auto bpe = read([](GgufWriter& w) { add_tokens(w, "gpt2", {"a", "b"}); });
  CHECK_FALSE(bpe->flags().add_bos);
  CHECK_FALSE(bpe->flags().add_space_prefix);
  CHECK(bpe->special().bos == kNoToken);
  const auto llama3 = read([](GgufWriter& w) {
    add_tokens(w, "gpt2", {"a", "b"});
    w.add_string("tokenizer.ggml.pre", "llama-bpe");
    w.add_u32("tokenizer.ggml.bos_token_id", 1);
    w.add_bool("tokenizer.ggml.add_eos_token", true);
  });
  CHECK(llama3->flags().add_bos);
  CHECK(llama3->flags().add_eos);
  CHECK(llama3->special().bos == 1);
}

TEST_CASE("forms of texts that name other tokens, or no text, are rejected") {
  using Parts = std::vector<std::int32_t>;
  const auto error_of = [](const char* key, const Parts& parts, const Parts& types = {}) {
    try {
      const auto v = read([&](GgufWriter& w) {
        add_tokens(w, "gpt2", {"a", "b"});
        w.add_i32s(std::string("weft.tokenizer.") + key, parts);
        if (!types.empty()) w.add_i32s("weft.tokenizer.text_types", types);
      });
      return std::to_string(v->forms().single.size());
    } catch (const FormatError& e) {
      return std::string(e.what());
    }
  };
  CHECK(error_of("text_form", {1, 0, -1, 1}) == "4");
  CHECK(error_of("text_form", {2, -1}) == "test.gguf: the form of a text has token 2 of 2");
  CHECK(error_of("text_form", {0}) ==
        "test.gguf: the form of a text must have its text once, it has 0 and 0");
  CHECK(error_of("pair_form", {-1, -1}) ==
        "test.gguf: the form of a pair must have each of its two texts once, it has 2 and 0");
  CHECK(error_of("text_form", {-3, -1}) ==
        "test.gguf: weft.tokenizer.text_form holds -3, which is not a part of a form");
  CHECK(error_of("text_form", {-1}, {0, 1}) ==
        "test.gguf: weft.tokenizer.text_types has 2 types for 1 parts");
  CHECK(error_of("text_form", {-1}, {-1}) == "test.gguf: the form of a text has a part of type -1");
  CHECK(error_of("more_ends", {2}) == "test.gguf: weft.tokenizer.more_ends names token 2 of 2");
}

TEST_CASE("tokens that absorb white space follow from the pre-tokenizer or the model") {
  const auto with = [](const char* key, const char* value) {
    return read([&](GgufWriter& w) {
      add_tokens(w, "gpt2", {"a", "<mask>", "[MASK]", "<|end|>", "<s>"});
      w.add_i32s("tokenizer.ggml.token_type", std::vector<std::int32_t>{1, 4, 4, 3, 3});
      w.add_string(key, value);
    });
  };
  const auto modern = with("tokenizer.ggml.pre", "modern-bert");
  CHECK(modern->strips_left(2));
  CHECK_FALSE(modern->strips_left(1));
  CHECK(with("tokenizer.ggml.pre", "jina-v2-code")->strips_left(1));
  const auto phi = with("general.name", "Phi-3 mini");
  CHECK(phi->strips_right(3));
  CHECK_FALSE(phi->strips_right(4));
  CHECK_FALSE(phi->strips_left(1));
  CHECK_FALSE(with("general.name", "another")->strips_right(3));
}

TEST_CASE("a kind may need a BOS, and may imply its own rule") {
  const auto v = read([](GgufWriter& w) {
    add_tokens(w, "gemma4", {"a", "<bos>"});
    w.add_string("tokenizer.ggml.pre", "gpt-2");
    w.add_bool("tokenizer.ggml.add_bos_token", false);
  });
  CHECK(v->flags().add_bos);
  CHECK(v->warnings().size() == 1);
  CHECK_FALSE(read([](GgufWriter& w) {
                add_tokens(w, "whitespace", {"a", "<bos>"});
                w.add_string("tokenizer.ggml.pre", "llama3");
              })
                  ->flags()
                  .add_bos);
}

TEST_CASE("special ids outside the vocabulary are ignored with a warning") {
  const auto v = read([](GgufWriter& w) {
    add_tokens(w, "llama", {"<unk>", "<s>", "</s>"});
    w.add_u32("tokenizer.ggml.bos_token_id", 3);
    w.add_i32("tokenizer.ggml.seperator_token_id", -1);
    w.add_u32("tokenizer.ggml.padding_token_id", std::numeric_limits<std::uint32_t>::max());
  });
  CHECK(v->special().bos == kNoToken);
  CHECK(v->special().pad == kNoToken);
  CHECK(v->special().sep == kNoToken);
  REQUIRE(v->warnings().size() >= 3);
  CHECK(v->warnings()[0] ==
        "tokenizer.ggml.bos_token_id 3 is outside the vocabulary of 3 tokens and is ignored");
}

TEST_CASE("arrays that do not fit are rejected") {
  const auto with = [](const std::function<void(GgufWriter&)>& more) {
    return read([&](GgufWriter& w) {
      add_tokens(w, "llama", {"a", "b"});
      more(w);
    });
  };
  const float three[] = {0, 1, 2};
  const float nan[] = {0, std::numeric_limits<float>::quiet_NaN()};
  const std::int32_t one[] = {1};
  const std::int32_t odd[] = {1, 99};
  CHECK_THROWS_WITH_AS(with([&](GgufWriter& w) { w.add_f32s("tokenizer.ggml.scores", three); }),
                       "test.gguf: tokenizer.ggml.scores has 3 entries for 2 tokens", FormatError);
  CHECK_THROWS_AS(with([&](GgufWriter& w) { w.add_f32s("tokenizer.ggml.scores", nan); }),
                  FormatError);
  CHECK_THROWS_AS(with([&](GgufWriter& w) { w.add_i32s("tokenizer.ggml.scores", one); }),
                  FormatError);
  CHECK_THROWS_AS(with([&](GgufWriter& w) { w.add_i32s("tokenizer.ggml.token_type", one); }),
                  FormatError);
  CHECK_THROWS_AS(with([&](GgufWriter& w) { w.add_f32s("tokenizer.ggml.token_type", three); }),
                  FormatError);
  CHECK_THROWS_AS(read([](GgufWriter& w) { w.add_string("tokenizer.ggml.model", "llama"); }),
                  FormatError);
  const auto v = with([&](GgufWriter& w) { w.add_i32s("tokenizer.ggml.token_type", odd); });
  CHECK(v->type(1) == TokenType::undefined);
  CHECK(v->warnings().size() == 1);
}

TEST_CASE("the last of several tokens with the same text is found, empty tokens never") {
  const auto v = read([](GgufWriter& w) { add_tokens(w, "llama", {"a", "", "a", "\xFF"}); });
  CHECK(v->find("a") == 2);
  CHECK(v->find("") == kNoToken);
  CHECK(v->find("\xFF") == 3);
  CHECK(v->find("b") == kNoToken);
  CHECK(v->warnings().size() == 1);
}

TEST_CASE("tokens that end a reply are known by id and by text, and are control tokens") {
  const auto v = read([](GgufWriter& w) {
    add_tokens(w, "gpt2", {"a", "<|im_end|>", "<|endoftext|>", "b"});
    w.add_u32("tokenizer.ggml.eos_token_id", 3);
  });
  CHECK_FALSE(v->ends_generation(0));
  CHECK(v->ends_generation(1));
  CHECK(v->ends_generation(2));
  CHECK(v->ends_generation(3));
  CHECK(v->type(1) == TokenType::control);
  CHECK(v->type(3) == TokenType::normal);
}

TEST_CASE("if replies have parts, the end of a part does not end the reply") {
  const auto v = read([](GgufWriter& w) {
    add_tokens(w, "gpt2", {"a", "<|end|>", "<|return|>", "<|call|>"});
    w.add_u32("tokenizer.ggml.eot_token_id", 1);
  });
  CHECK_FALSE(v->ends_generation(1));
  CHECK(v->type(1) == TokenType::control);
  CHECK(v->ends_generation(2));
  CHECK(v->ends_generation(3));
}

TEST_CASE("an unknown kind is read, but cannot encode") {
  const auto v = read([](GgufWriter& w) { add_tokens(w, "quux", {"a"}); });
  CHECK(v->size() == 1);
  CHECK_THROWS_WITH_AS(make_tokenizer(v),
                       "unknown tokenizer.ggml.model 'quux' (known: llama, gpt2, "
                       "gemma4, whitespace, hybriddna, bert, t5, rwkv, plamo2, pipeline)",
                       UnsupportedError);
}

}  // namespace
}  // namespace weft
