#include "weft/serve/prompt.h"

#include <doctest/doctest.h>

#include "generation/generation_test_support.h"

using namespace weft;

TEST_CASE("control tokens of a prompt are read") {
  const auto model = test::stories();
  const auto marked = encode_prompt(*model, "<|im_start|>user\nHi<|im_end|>\n");
  const auto plain = encode_prompt(*model, "user\nHi\n");
  CHECK(marked.size() == plain.size() + 2);
  CHECK(marked.front() == plain.front());  // BOS
}
