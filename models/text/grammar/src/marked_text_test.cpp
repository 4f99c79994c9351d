#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/grammar/grammar.h"

namespace weft {
namespace {

TEST_CASE("texts up to a marker, and texts without it") {
  for (const std::string_view marker : {"</a>", "aab", "aa", "é", "a"}) {
    CAPTURE(marker);
    const auto up_to = Grammar::up_to(marker);
    const auto without = Grammar::without(marker);
    for (const std::string_view text :
         {"", "x", "<", "</a", "</a</", "a", "aa", "aab", "aaab", "aaaab", "ab", "é", "xéé",
          "<</a>", "x</a>", "</a>x", "</</a>", "\xF0\x9F\xA6\x8A</a>"}) {
      CAPTURE(text);
      const std::size_t at = text.find(marker);
      CHECK(without->accepts(text) == (at == text.npos));
      CHECK(up_to->accepts(text) == (at != text.npos && at + marker.size() == text.size()));
    }
    CHECK_FALSE(without->accepts("\xFF"));
  }
  CHECK_THROWS_AS(Grammar::up_to(""), ValueError);
  CHECK_THROWS_AS(Grammar::without("\xFF"), ValueError);
}

TEST_CASE("rules that are other grammars") {
  const auto value = Grammar::from_json_schema(R"({"enum": [1, "x"]})");
  const auto maybe = Grammar::from_gbnf("root ::= \"z\"*");
  const auto list = Grammar::from_gbnf("root ::= \"[\" value (\",\" value)* \"]\" maybe maybe",
                                       {.rules = {{"value", value}, {"maybe", maybe}}});
  for (const std::string_view good : {"[1]", "[1,\"x\",1]", "[1]z", "[\"x\"]zzz"})
    CHECK(list->accepts(good));
  for (const std::string_view bad : {"[]", "[2]", "[1,]", "1", "[1]y"})
    CHECK_FALSE(list->accepts(bad));

  const auto nested = Grammar::from_gbnf("root ::= inner inner", {.rules = {{"inner", list}}});
  CHECK(nested->accepts("[1]zz[\"x\"]"));
  CHECK_FALSE(nested->accepts("[1]"));
  // Its rules are separate from those of the text, even if their names are the same.
  const auto own = Grammar::from_gbnf("root ::= a b\na ::= \"1\"",
                                      {.rules = {{"b", Grammar::from_gbnf("root ::= a\na ::= "
                                                                          "\"2\"")}}});
  CHECK(own->accepts("12"));
  CHECK_THROWS_AS(Grammar::from_gbnf("root ::= c", {.rules = {{"b", list}}}), FormatError);
  CHECK_THROWS_AS(Grammar::from_gbnf("root ::= b\nb ::= \"1\"", {.rules = {{"b", list}}}),
                  FormatError);
}

}  // namespace
}  // namespace weft
