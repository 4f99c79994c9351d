#include "mixes.h"

#include <doctest/doctest.h>

namespace weft::quantize {
namespace {

TEST_CASE("mixes are found in any case, by their aliases, and not by prefixes") {
  CHECK(find_mix("q4_k_m")->mix == Mix::q4_k_m);
  CHECK(find_mix("Q4_K")->mix == Mix::q4_k_m);
  CHECK(find_mix("iq2_XXS")->file_type == 19);
  CHECK(find_mix("Q4") == nullptr);
  CHECK(find_mix("") == nullptr);
}

TEST_CASE("every mix has a number and a name of its own") {
  for (const MixInfo& a : all_mixes()) {
    for (const MixInfo& b : all_mixes()) {
      if (a.mix == b.mix) continue;
      CHECK(a.name != b.name);
      // F32 and COPY share theirs: a copy keeps the number of its input.
      if (a.mix != Mix::copy && b.mix != Mix::copy) CHECK(a.file_type != b.file_type);
    }
  }
}

}  // namespace
}  // namespace weft::quantize
