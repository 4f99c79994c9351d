#include <doctest/doctest.h>

#include "weft/base/error.h"

#include "support/built_graph.h"
#include "support/made_source.h"

using namespace weft;
using namespace weft::arch;

namespace {

using test::build;

using List = std::vector<std::int64_t>;

MadeSource encoder(std::int64_t taps, const List& kv_heads) {
  MadeSource source("lfm2");
  source.path = "tiny.gguf";
  source.keys["lfm2.attention.causal"] = false;
  source.keys["lfm2.attention.head_count_kv"] = kv_heads;
  source.keys["lfm2.shortconv.l_cache"] = taps;
  source.learn();
  return source;
}

std::string message(std::int64_t taps, const List& kv_heads) {
  try {
    build(encoder(taps, kv_heads));
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("lfm2: encoders see later tokens and keep no state of convolutions") {
  const Graph graph = build(encoder(3, {0, 2}));
  CHECK(graph.find("recurrent.shortconv.0") == kNoNode);
  CHECK(graph.find("rows_from") == kNoNode);
  CHECK(graph.find("before") != kNoNode);
  CHECK(graph.find("ends") != kNoNode);
}

TEST_CASE("lfm2: encoders whose convolutions have no middle, or without attention") {
  CHECK(message(4, {0, 2}) ==
        "tiny.gguf: key 'lfm2.shortconv.l_cache' is 4, must be odd in encoders");
  CHECK(message(3, {0, 0}) ==
        "tiny.gguf: key 'lfm2.attention.head_count_kv' is 0, must be positive in one of the layers "
        "of an encoder");
}
