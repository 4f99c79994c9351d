#include "safetensors/tokenizer/sentencepiece_model.h"

#include <bit>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/files/vocabulary_file.h"
#include "weft/tokenize/tokenizer.h"

#include "safetensors/tiny_directory.h"

using namespace weft;
using test::holds;
using test::Json;
using test::TinyDirectory;

namespace {

using Ids = std::vector<TokenId>;

// Fields in the wire format of Protocol Buffers.
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(0x80 | (value & 0x7F));
  return bytes + static_cast<char>(value);
}
std::string number(std::uint32_t field, std::uint64_t value) {
  return varint(field << 3) + varint(value);
}
std::string text(std::uint32_t field, const std::string& bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string score(std::uint32_t field, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  std::string bytes = varint(field << 3 | 5);
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(bits >> (8 * i) & 0xFF);
  return bytes;
}
std::string piece(const std::string& name, float value, std::uint64_t type = 1) {
  return text(1, text(1, name) + score(2, value) + number(3, type));
}

// <unk> <s> </s> <0x41> _ a _a aa
std::string model(std::uint64_t type, const std::string& trainer = "",
                  const std::string& normalizer = number(4, 0)) {
  return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece("<0x41>", 0, 6) +
         piece("\u2581", -4) + piece("a", -3) + piece("\u2581a", -2) + piece("aa", -1) +
         text(2, number(3, type) + trainer) + text(3, normalizer);
}

class SentencePieceDirectory : public TinyDirectory {
 public:
  explicit SentencePieceDirectory(const std::string& bytes,
                                  const std::string& name = "tokenizer.model") {
    config["vocab_size"] = 10;
    tensors = {{"model.embed_tokens.weight", "F16", {10, 2}, 40}};
    tokenizer_config = Json::object();
    without_tokenizer = true;
    write(name, bytes);
  }
};

std::shared_ptr<const Tokenizer> opened(const TinyDirectory& dir) {
  return make_tokenizer(read_vocabulary(dir.open()));
}

}  // namespace

TEST_CASE("a SentencePiece model of type BPE: its tokens, scores and forms") {
  SentencePieceDirectory dir(model(2));
  const auto tokenizer = opened(dir);
  const Vocabulary& v = tokenizer->vocabulary();
  CHECK(v.kind() == "llama");
  CHECK(v.type(0) == TokenType::unknown);
  CHECK(v.type(1) == TokenType::control);
  CHECK(v.type(3) == TokenType::byte);
  CHECK(v.type(9) == TokenType::unused);
  CHECK(v.score(6) == -2.0F);
  CHECK(v.special().bos == 1);
  CHECK(v.special().eos == 2);
  CHECK(v.flags().add_space_prefix);
  CHECK(tokenizer->encode("aaA") == Ids{1, 4, 7, 3});  // with BOS, as LlamaTokenizer does
  CHECK(tokenizer->encode(" a", {.add_special = false}) == Ids{4, 6});
}

TEST_CASE("added tokens of tokenizer_config.json follow those of the model") {
  SentencePieceDirectory dir(model(2));
  dir.tokenizer_config = {{"tokenizer_class", "LlamaTokenizerFast"},
                          {"add_bos_token", false},
                          {"eos_token", "<e>"},
                          {"added_tokens_decoder",
                           {{"8", {{"content", "<e>"}, {"special", true}}},
                            {"9", {{"content", "<t>"}, {"special", false}, {"rstrip", true}}}}}};
  const auto tokenizer = opened(dir);
  CHECK(tokenizer->vocabulary().special().eos == 8);
  CHECK(tokenizer->vocabulary().type(9) == TokenType::user_defined);
  CHECK(tokenizer->encode("<t> a<e>", {.parse_special = true}) == Ids{9, 6, 8});
}

TEST_CASE("added tokens of added_tokens.json, which are special if a setting names them") {
  SentencePieceDirectory dir(model(2));
  dir.write("added_tokens.json", R"({"<e>": 8, "<t>": 9})");
  dir.write("special_tokens_map.json", R"({"additional_special_tokens": ["<e>"]})");
  dir.tokenizer_config = {{"add_bos_token", false}};
  const auto tokenizer = opened(dir);
  CHECK(tokenizer->vocabulary().type(8) == TokenType::control);
  CHECK(tokenizer->vocabulary().type(9) == TokenType::user_defined);
  CHECK(tokenizer->encode("<t> a<e>", {.parse_special = true}) == Ids{9, 4, 6, 8});
  SentencePieceDirectory wrong(model(2));
  wrong.write("added_tokens.json", R"({"<e>": "8"})");
  CHECK(holds(wrong.error(), "added_tokens.json: '<e>' must be the id of a token"));
}

TEST_CASE("the space before a text, and before the texts after added tokens") {
  const auto ids = [](const std::string& bytes, const char* text, Json settings) {
    SentencePieceDirectory dir(bytes, "spiece.model");
    dir.tokenizer_config = std::move(settings);
    dir.tokenizer_config["extra_ids"] = 0;
    dir.tokenizer_config["added_tokens_decoder"] = {{"8", {{"content", "<t>"}}}};
    return opened(dir)->encode(text, {.add_special = false});
  };
  const Json later = {{"legacy", false}}, none = {{"legacy", false}, {"add_prefix_space", false}};
  CHECK(ids(model(2), "a<t>a", Json::object()) == Ids{6, 8, 6});
  CHECK(ids(model(2), "a<t>a", {{"add_prefix_space", false}}) == Ids{6, 8, 6});
  CHECK(ids(model(2), "a<t>a<t> a", later) == Ids{6, 8, 5, 8, 6});
  CHECK(ids(model(2), "<t>a", later) == Ids{8, 5});
  CHECK(ids(model(2), "a<t>a", none) == Ids{5, 8, 5});
  CHECK(ids(model(2), "a<t>a", {{"tokenizer_class", "CodeLlamaTokenizer"}}) == Ids{6, 8, 5});
  CHECK(ids(model(2), "a<t>a", {{"tokenizer_class", "GemmaTokenizer"}, {"legacy", false}}) ==
        Ids{6, 8, 6});
  const std::string t5 = model(1, "", number(3, 1) + number(4, 1));
  CHECK(ids(t5, " a <t> a<t>a", Json::object()) == Ids{6, 8, 6, 8, 6});
  CHECK(ids(t5, " a <t>  a<t>a", later) == Ids{6, 8, 6, 8, 5});
}

TEST_CASE("a unigram model: EOS and sentinels of T5, spaces, the character map") {
  SentencePieceDirectory dir(model(1, "", number(3, 1) + number(4, 1)), "spiece.model");
  dir.tokenizer_config = {{"extra_ids", 2}};
  const auto tokenizer = opened(dir);
  const Vocabulary& v = tokenizer->vocabulary();
  CHECK(v.kind() == "t5");
  CHECK(v.text(8) == "<extra_id_1>");
  CHECK(v.text(9) == "<extra_id_0>");
  CHECK(tokenizer->encode("  a  a ") == Ids{6, 6, 2});
  CHECK(tokenizer->encode_pair("a", "aa").ids == Ids{6, 2, 4, 7, 2});
}

TEST_CASE("SentencePiece models that cannot be followed are refused by name") {
  const auto error_of = [](const std::string& bytes, const Json& settings = Json::object()) {
    SentencePieceDirectory dir(bytes);
    dir.tokenizer_config = settings;
    return dir.error();
  };
  const std::string file = "DIR/tokenizer.model: ";
  CHECK(error_of(model(3)) ==
        file + "'model_type' 3 (supported: 1, unigram; 2, BPE) is not supported");
  CHECK(error_of(model(2, number(24, 1))) ==
        file + "'treat_whitespace_as_suffix' is not supported");
  CHECK(error_of(model(2, "", number(5, 0))) ==
        file + "'escape_whitespaces' false is not supported");
  CHECK(holds(error_of(model(1), {{"tokenizer_class", "XLMRobertaTokenizer"}}),
              "'tokenizer_class' XLMRobertaTokenizer without tokenizer.json is not supported"));
  CHECK(holds(error_of(model(1)), "it is not known which tokens go around a text"));
  CHECK(holds(error_of(model(2), {{"sp_model_kwargs", {{"enable_sampling", true}}}}),
              "'enable_sampling' is not supported without tokenizer.json"));
  CHECK(holds(error_of(model(2), {{"added_tokens_decoder", {{"x", {{"content", "y"}}}}}}),
              "a token with its id as the key"));
  CHECK(error_of(piece("x", 0, 9)) == file + "token 0 has type 9, which is not known");
  CHECK(error_of(piece("\xFF", 0)) == file + "token 0 is not a text in UTF-8");
  CHECK(error_of("") == file + "not a SentencePiece model: it has no tokens");
  const std::string whole = model(2);
  CHECK(holds(error_of(whole.substr(0, whole.size() - 1)), "a field ends beyond the file"));
  CHECK(holds(error_of("IQ== 0\nIg== 1\n"), "not a SentencePiece model"));  // of tiktoken
  CHECK(holds(error_of(std::string(11, '\xFF')), "a number of more than 64 bits"));
  CHECK(holds(error_of(varint(7) + "x"), "a field without a number"));
  for (std::size_t n = 0; n < whole.size(); ++n) error_of(whole.substr(0, n));  // no crash
}
