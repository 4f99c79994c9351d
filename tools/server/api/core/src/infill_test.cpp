// Prompts of infill, with a vocabulary that gets the tokens for it from overrides.

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "weft/api/errors.h"
#include "weft/api/infill_prompt.h"
#include "weft/run/model.h"
#include "weft/tokenize/vocabulary.h"

namespace weft::api {
namespace {

constexpr TokenId kPrefix = 290, kSuffix = 291, kMiddle = 292, kSeparator = 293;
constexpr const char* kStories = WEFT_BUNDLED_MODELS "/weft-stories.gguf";

ServedModel infill_model(const std::string& more = "") {
  ModelOptions options;
  options.overrides = parse_key_overrides(
      "tokenizer.ggml.fim_pre_token_id=int:290,tokenizer.ggml.fim_suf_token_id=int:291,"
      "tokenizer.ggml.fim_mid_token_id=int:292" +
      more);
  return {.model = Model::load(kStories, options)};
}

std::vector<TokenId> encode(const ServedModel& served, std::string_view text) {
  return served.model->tokenizer().encode(text, {.add_special = false});
}

std::vector<TokenId> joined(std::initializer_list<std::vector<TokenId>> parts) {
  std::vector<TokenId> all;
  for (const std::vector<TokenId>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST_CASE("infill: prefix, suffix and middle in order, after BOS if texts begin with it") {
  const TokenId bos = infill_model().model->vocabulary().special().bos;
  REQUIRE(bos != kNoToken);
  for (const bool add_bos : {true, false}) {
    const ServedModel served = infill_model(fmt::format(
        ",tokenizer.ggml.add_bos_token=bool:{},tokenizer.ggml.add_eos_token=bool:true", add_bos));
    const std::vector<TokenId> begin = add_bos ? std::vector{bos} : std::vector<TokenId>();
    const auto expected = joined({begin,
                                  {kPrefix},
                                  encode(served, "Once"),
                                  {kSuffix},
                                  encode(served, "the end"),
                                  {kMiddle}});
    const PromptText prefix{.text = "Once", .ids = {}};
    CHECK(infill_prompt(served, {.prefix = prefix, .suffix = "the end"}) == expected);
    CHECK(infill_prompt_of_suffix(served, prefix, "the end") == expected);
    CHECK(infill_prompt_of_suffix(served, {}, "") == joined({begin, {kPrefix, kSuffix, kMiddle}}));
  }
}

TEST_CASE("infill: the token that texts begin with need not be BOS") {
  const ServedModel served =
      infill_model(",tokenizer.ggml.model=str:bert,tokenizer.ggml.cls_token_id=int:294");
  REQUIRE(served.model->vocabulary().special().bos != 294);
  CHECK(infill_prompt_of_suffix(served, {}, "") ==
        std::vector<TokenId>{294, kPrefix, kSuffix, kMiddle});
  const PromptText ids{.text = {}, .ids = {294, 20}, .is_ids = true};
  CHECK(infill_prompt_of_suffix(served, ids, "") ==
        std::vector<TokenId>{294, kPrefix, 20, kSuffix, kMiddle});
}

TEST_CASE("infill: BOS of ids stays the first token") {
  const ServedModel served = infill_model();
  const TokenId bos = served.model->vocabulary().special().bos;
  const auto of_ids = [&](std::vector<TokenId> ids) {
    return infill_prompt_of_suffix(served, {.text = {}, .ids = std::move(ids), .is_ids = true}, "");
  };
  CHECK(of_ids({bos, 20, 21}) == std::vector<TokenId>{bos, kPrefix, 20, 21, kSuffix, kMiddle});
  CHECK(of_ids({20, 21}) == std::vector<TokenId>{kPrefix, 20, 21, kSuffix, kMiddle});
  CHECK_THROWS_AS(of_ids({1 << 29}), ApiError);
}

TEST_CASE("infill: other files come before, the beginning of the middle at the end") {
  const ServedModel served = infill_model(
      ",tokenizer.ggml.fim_sep_token_id=int:293,tokenizer.ggml.add_bos_token=bool:false");
  const auto tokens = infill_prompt(served, {.prefix = {.text = "a", .ids = {}},
                                             .suffix = "b",
                                             .files = {{"x.txt", "text"}},
                                             .after_prefix = {25}});
  CHECK(tokens == joined({{kSeparator},
                          encode(served, "x.txt\n"),
                          encode(served, "text"),
                          {kSeparator},
                          encode(served, "filename\n"),
                          {kPrefix},
                          encode(served, "a"),
                          {kSuffix},
                          encode(served, "b"),
                          {kMiddle, 25}}));
}

TEST_CASE("infill: a vocabulary without the tokens") {
  ServedModel served;
  served.model = Model::load(kStories);
  const auto status = [](const auto& f) {
    try {
      f();
    } catch (const ApiError& error) {
      return error.status;
    }
    return 200;
  };
  CHECK(status([&] { infill_prompt(served, {.prefix = {}, .suffix = "b"}); }) == 501);
  CHECK(status([&] { infill_prompt_of_suffix(served, {}, "b"); }) == 400);
}

}  // namespace
}  // namespace weft::api
