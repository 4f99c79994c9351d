#pragma once
// Models and choosers for the tests of generations.

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/run/model.h"
#include "weft/serve/generation.h"
#include "weft/serve/prompt.h"

namespace weft::test {

// A real vocabulary: the bundled model.
inline std::shared_ptr<const Model> stories() {
  static const auto model = Model::load(WEFT_BUNDLED_MODELS "/weft-stories.gguf");
  return model;
}

// Chooses these tokens, which must be allowed, then one that ends the text.
inline auto script(std::vector<TokenId> ids, TokenId end) {
  return [ids = std::move(ids), end, at = std::size_t{0}](std::span<const float> logits,
                                                          std::span<const TokenId>) mutable {
    const TokenId id = at < ids.size() ? ids[at++] : end;
    CHECK(logits[static_cast<std::size_t>(id)] > -1e30F);
    return id;
  };
}

// The tokens of the bytes of a text, one by one.
inline std::vector<TokenId> bytewise(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<TokenId> ids;
  for (const char c : text) {
    const auto id = tokenizer.encode({&c, 1}, {.add_special = false});
    ids.insert(ids.end(), id.begin(), id.end());
  }
  return ids;
}

struct Written {
  std::vector<TokenId> tokens;  // new ones
  std::vector<std::string> pieces;
  std::string text;
  StopReason stop = StopReason::none;
};

inline void add(const GenerationEvent& event, Written& to) {
  if (event.token != kNoToken && event.stop != StopReason::end_of_text)
    to.tokens.push_back(event.token);
  to.pieces.emplace_back(event.text);
  to.text += event.text;
  to.stop = event.stop;
}

inline Written write(Generation& generation) {
  Written written;
  while (!generation.ended()) add(generation.next(), written);
  return written;
}

inline Written write(Session& session, const GenerationOptions& options,
                     std::span<const TokenId> prompt, std::int32_t sequence = 0) {
  Generation generation(session, sequence, options);
  generation.begin(prompt);
  return write(generation);
}

}  // namespace weft::test
