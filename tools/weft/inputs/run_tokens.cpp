#include "inputs/run_tokens.h"

#include <algorithm>
#include <random>

#include "weft/base/error.h"
#include "weft/run/model.h"
#include "weft/tokenize/tokenizer.h"

#include "inputs/token_list.h"

namespace weft::tools {

void RunTokens::add_flags(cli::App& app) {
  const cli::Option by_prompt = app.add_option_function(
      "-p,--prompt",
      [this](const std::string& text) {
        prompt = text;
        given_ = true;
      },
      "the text to run");
  const cli::Option by_ids = app.add_option_function(
                                    "--tokens",
                                    [this](const std::string& text) {
                                      tokens = text;
                                      given_ = has_tokens_ = true;
                                    },
                                    "the token ids to run, separated by commas")
                                 .excludes(by_prompt);
  app.add_option_function(
         "--random",
         [this](std::int64_t n) {
           n_random = n;
           given_ = true;
         },
         "run N random token ids")
      .range(1, std::int64_t{1} << 20)
      .excludes(by_prompt)
      .excludes(by_ids)
      .type_name("N");
  app.add_option("-s,--seed", seed, "seed of --random").capture_default_str();
}

std::vector<std::int32_t> RunTokens::of(const Model& model) const {
  std::vector<std::int32_t> ids;
  if (has_tokens_) {
    ids = parse_list("--tokens", tokens);
  } else if (n_random > 0 || !model.has_tokenizer()) {
    std::mt19937 random(seed);
    for (std::int64_t i = 0; i < std::max<std::int64_t>(n_random, 8); ++i) {
      const auto id = n_random > 0 ? static_cast<std::int64_t>(random()) : i;
      ids.push_back(static_cast<std::int32_t>(id % model.facts().n_vocab));
      if (i + 1 == n_random) break;
    }
  } else {
    ids = model.tokenizer().encode(prompt);
  }
  if (ids.empty()) fail<ValueError>("no tokens to run");
  return ids;
}

}  // namespace weft::tools
