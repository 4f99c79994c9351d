#include "weft/run/modes.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/run/session.h"

#include "support/error_text.h"
#include "support/source_tree.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

TEST_CASE("docs/modes.md has the table of the modes") {
  std::ifstream file(test::source_tree() / "docs/modes.md");
  const std::string docs(std::istreambuf_iterator<char>(file), {});
  for (const ModeRule& r : mode_rules())
    CHECK_MESSAGE(docs.find(fmt::format("| {} | {} | {} | {} |\n", to_string(r.mode), r.name,
                                        to_string(r.support), r.sentence)) != docs.npos,
                  r.sentence);
  const std::string table = docs.substr(docs.find("\n|---") + 1);
  CHECK(std::ranges::count(table, '\n') - 1 == std::ssize(mode_rules()));
}

TEST_CASE("there is one rule for a feature in a mode") {
  for (const ModeRule& a : mode_rules())
    CHECK(std::ranges::count_if(mode_rules(), [&](const ModeRule& b) {
            return a.feature == b.feature && a.mode == b.mode;
          }) == 1);
}

TEST_CASE("what a mode lacks is refused with the sentence of the table") {
  const auto plain = test::tiny_model();
  CHECK_NOTHROW(require(*plain, Feature::saving));
  const auto sharded = Model::load(plain->file(), {.sharding = {.pp = 2}, .lone_rank = 0});
  CHECK(test::text_of([&] { require(*sharded, Feature::saving); }) ==
        plain->file().path() + ": " + std::string(why_not(Feature::saving, Mode::sharded)));
  CHECK_NOTHROW(require(*sharded, Feature::traces));  // only without the nodes of other ranks
  CHECK(test::text_of([&] {
          Session(sharded, {.context = 64, .draft_layer = true});
        }).find(why_not(Feature::draft_layer, Mode::sharded)) != std::string::npos);
}

}  // namespace
}  // namespace weft
