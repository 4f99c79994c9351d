// A tokenizer kind and a kind of memory, found in the longer lists by name.
#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/tokenize/tokenizer.h"

#include "memory/sequence_memory.h"
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

}  // namespace
}  // namespace weft
