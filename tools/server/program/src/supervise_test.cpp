#include "supervise.h"

#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"

#include "rank_flags.h"

namespace weft::server {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("a command is split like a shell does") {
  CHECK(split_words("  mpirun -n  2\t--host a,b ") == Words{"mpirun", "-n", "2", "--host", "a,b"});
  CHECK(split_words(R"(a 'b  $c' "d \"e\" \\ \f" g\ h x'y'"z" '')") ==
        Words{"a", "b  $c", R"(d "e" \ \f)", "g h", "xyz", ""});
  CHECK(split_words("   ").empty());
  for (const char* text : {"a; b", "a | b", "a & b", "$HOME", "\"$HOME\"", "`a`", "a > b", "*.gguf",
                           "~/a", "'a", "\"a", "a\\"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(split_words(text), ValueError);
  }
}

TEST_CASE("the server that --launch starts has the other arguments") {
  CHECK(without_launch({"-m", "a.gguf", "--launch", "mpirun -n 2", "--restart", "--shard=tp=2"}) ==
        Words{"-m", "a.gguf", "--shard=tp=2"});
  CHECK(without_launch({"--launch=mpirun -n 2", "--port", "0"}) == Words{"--port", "0"});
}

TEST_CASE("the exit code of a command is passed on") {
  CHECK(supervise({"true"}, false) == 0);
  CHECK(supervise({"sh", "-c", "exit 7"}, false) == 7);
  CHECK(supervise({"sh", "-c", "kill -KILL $$"}, false) == 128 + SIGKILL);
  // Neither is a failure that starting it again could mend.
  CHECK(supervise({"true"}, true) == 0);
  CHECK(supervise({"sh", "-c", "exit 2"}, true) == 2);
  CHECK_THROWS_AS(supervise({"/no/such/program"}, true), IoError);
}

}  // namespace
}  // namespace weft::server
