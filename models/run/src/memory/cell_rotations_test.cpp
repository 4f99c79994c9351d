// Which architectures' cells can be taken to another position.
#include <string>

#include <doctest/doctest.h>

#include "weft/run/moved_tokens.h"

#include "session/session_impl.h"
#include "support/tiny_model.h"

using namespace weft;
using test::tiny_model;

namespace {

// Why a made model of this architecture cannot.
std::string why_not(const std::string& arch) {
  Session session(tiny_model({.arch = arch}), {.context = 128, .prefill_width = 64});
  return why_not_moved(session);
}

}  // namespace

TEST_CASE("cells that only rotate with their position can be taken") {
  for (const char* arch :
       {"llama", "qwen3", "gemma3", "deepseek2", "phi3", "llama4", "bloom", "glm4"})
    CHECK_MESSAGE(why_not(arch) == "", arch);
}

TEST_CASE("what else computes with positions rules it out, and is named") {
  CHECK(why_not("gpt2") == "'position_embd.weight' depends on the absolute positions of tokens");
  CHECK(why_not("hunyuan-dense") ==
        "'blk.0.attn_k_norm.weight' changes keys after they were rotated by their positions");
  CHECK(why_not("qwen3next") == "the model has recurrent states");
  CHECK(why_not("mamba") == "the model has recurrent states");
  CHECK(why_not("t5") == "the model has an encoder");
}
