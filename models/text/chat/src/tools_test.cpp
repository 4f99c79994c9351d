#include "weft/chat/tools.h"

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/chat/place_error.h"

namespace weft {
namespace {

TEST_CASE("definitions are read with or without the member \"function\"") {
  const auto tools = parse_tools(
      R"([{"type": "function", "function": {"name": "a.b", "strict": true,
           "parameters": {"z": 1, "a": 2}}}, {"name": "c", "parameters": null}])",
      "tools");
  REQUIRE(tools.size() == 2);
  CHECK(tools[0].name == "a.b");
  CHECK(tools[0].strict);
  CHECK(tools[0].parameters == R"({"z":1,"a":2})");  // in the order of the text
  CHECK(tools[0].place == "tools[0].function");
  CHECK(tools[1].parameters.empty());
  CHECK(tools[1].place == "tools[1]");
  CHECK(parse_tools(definitions_of(tools), "again")[0].definition == tools[0].definition);
  CHECK(definitions_of({}).empty());
}

TEST_CASE("what is not a definition is refused") {
  const auto refused = [](const char* json, const char* words) {
    CHECK_THROWS_WITH_AS(parse_tools(json, "tools"), doctest::Contains(words), FormatError);
  };
  refused("{", "not JSON");
  refused("{}", "must be a JSON array");
  refused("[1]", "function that has a name");
  refused(R"([{"name": "f", "strict": 1}])", "tools[0].strict: must be true or false");
  refused(R"([{"name": "f"}, {"name": "f"}])", "tools[1].name: duplicate name \"f\"");
}

TEST_CASE("names that calls cannot be held to are known") {
  CHECK(parse_tools(R"([{"name": "get weather"}])", "tools")[0].name == "get weather");
  for (const char* name : {"get_weather", "a.b", "x:y/z-1"}) CHECK(is_tool_name(name));
  for (const char* name : {"", "get weather", "a\"b"}) CHECK_FALSE(is_tool_name(name));
}

TEST_CASE("a choice needs its tools") {
  const std::vector<ChatTool> one{{.name = "f"}};
  CHECK_NOTHROW(check_tools({}, {ToolChoice::Kind::none}, "choice"));
  CHECK_NOTHROW(check_tools(one, {ToolChoice::Kind::named, "f"}, "choice"));
  CHECK_THROWS_WITH_AS(check_tools({}, {ToolChoice::Kind::required}, "choice"),
                       "choice: there are no tools", PlaceError);
  CHECK_THROWS_WITH_AS(check_tools(one, {ToolChoice::Kind::named, "g"}, "choice"),
                       "choice: no tool is named \"g\"", PlaceError);
}

}  // namespace
}  // namespace weft
