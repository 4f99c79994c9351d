// A tokenizer kind and a kind of memory, found in the longer lists by name.
#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/run/saved_sequence.h"
#include "weft/run/session.h"
#include "weft/tokenize/tokenizer.h"

#include "cuts.h"
#include "memory/sequence_memory.h"
#include "support/tiny_model.h"
#include "support/vocabulary.h"

namespace weft {
namespace {

TEST_CASE("a tokenizer kind: found by the name in the file") {
  test::VocabularyBuilder builder;
  builder.parts.kind = "letters";
  for (const char* letter : {"a", "b", "c"}) builder.add(letter);
  const auto tokenizer = make_tokenizer(builder.build());
  CHECK(tokenizer->encode("cab") == std::vector<TokenId>{2, 0, 1});
  CHECK(tokenizer->decode(std::vector<TokenId>{1, 2}) == "bc");
  builder.parts.kind = "syllables";
  CHECK_THROWS_AS(make_tokenizer(builder.build()), UnsupportedError);
}

TEST_CASE("a kind of memory: made by name, used through the interface") {
  using namespace run;
  const arch::MemoryPart part{.kind = "latest", .suffix = ".x", .n_rows = 2};
  const auto memory = make_memory(part, {.sequences = 2, .context = 10}, StateStore());
  CHECK(memory->input_names() == std::vector<std::string>{"latest.x"});
  const std::vector<Growth> step{{.sequence = 1, .from = 0, .to = 2}};
  REQUIRE(memory->reserve(step) == nullptr);
  std::vector<std::int32_t> rows(2);
  const std::vector<InputValues> inputs{rows};
  memory->write_inputs(std::vector<TokenPlace>{{1, 0}, {1, 1}}, step, inputs);
  CHECK(rows == std::vector<std::int32_t>{1, 1});
  memory->append(step);
  CHECK(memory->resume_point(1, 2) == 2);
  CHECK(memory->resume_point(1, 1) == 0);
  CHECK_THROWS_AS(make_memory({.kind = "earliest"}, {}, StateStore()), Error);
}

TEST_CASE("a party that follows sequences: called for all that a session does with them") {
  const auto model = test::tiny_model();
  Session session(model, {.context = 64, .sequences = 2});
  run::Cuts* const cuts = run::Cuts::latest;
  REQUIRE(cuts != nullptr);
  session.feed(0, std::vector<std::int32_t>{1, 2, 3, 4});
  CHECK(cuts->n_tokens == 4);
  session.truncate(0, 3);
  session.truncate(0, 2);
  CHECK(cuts->of(0) == 2);
  session.copy(0, 1, 1);
  CHECK(cuts->of(1) == 2);
  std::string bytes;
  save_sequence(session, 1, "", [&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  session.clear(1);
  CHECK(cuts->of(1) == 0);
  SavedSequence::parse(std::as_bytes(std::span(bytes)), "saved").restore(session, 1, 1);
  CHECK(cuts->of(1) == 2);
}

}  // namespace
}  // namespace weft
