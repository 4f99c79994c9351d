#include "offered_tools.h"

#include <doctest/doctest.h>

#include "python_literal.h"

namespace weft::reply {
namespace {

// The types of the parameter x with this schema.
JsonTypes types(const std::string& schema) {
  return read_tools(
             R"([{"name": "f", "parameters": {"properties": {"x": )" + schema +
             R"(}, "$defs": {"word": {"enum": ["a", "b"]}, "loop": {"$ref": "#/$defs/loop"}}}}])")
      .types_of("f", "x");
}

TEST_CASE("types that a schema allows") {
  CHECK(types(R"({"type": "string"})") == kText);
  CHECK(types(R"({"type": ["integer", "null"]})") == (kNumber | kNull));
  CHECK(types(R"({"anyOf": [{"type": "string"}, {"type": "null"}]})") == (kText | kNull));
  CHECK(types(R"({"oneOf": [{"const": 1}, {"$ref": "#/$defs/word"}]})") == (kNumber | kText));
  CHECK(types(R"({"enum": ["x", null]})") == (kText | kNull));
  CHECK(types(R"({"allOf": [{"type": ["string", "array"]}, {"type": ["array", "null"]}]})") ==
        kArray);
  // It does not say.
  for (const char* schema : {"{}", "true", R"({"$ref": "#/$defs/loop"})", R"({"$ref": "#/none"})",
                             R"({"$ref": "other.json"})", R"({"anyOf": [{}, {"type": "null"}]})"})
    CHECK(types(schema) == 0);
}

TEST_CASE("references that multiply end soon") {
  std::string many;
  for (int i = 0; i < 8; ++i) many += R"({"$ref": "#/properties/x"},)";
  many.pop_back();
  CHECK(types(R"({"anyOf": [)" + many + "]}") == 0);
}

TEST_CASE("a text as a value of a type") {
  // A value stays a text if the types allow texts.
  for (const char* text : {"12", "true", "{\"a\": 1}", " x\n"}) {
    CHECK(typed_value(text, kText).starts_with('"'));
    CHECK(typed_value(text, kText | kNull).starts_with('"'));
  }
  CHECK(typed_value("null", kText) == "\"null\"");
  CHECK(typed_value("null", kText | kNull) == "null");
  CHECK(typed_value("True", kBoolean) == "true");
  CHECK(typed_value("FALSE", kBoolean | kNull) == "false");
  CHECK(typed_value("None", kNumber | kNull) == "null");
  CHECK(typed_value("3", kNumber) == "3");
  CHECK(typed_value("1e400", kNumber) == "1e400");
  CHECK(typed_value("+3.", kNumber) == "3.0");
  CHECK(typed_value("['a', 1, None]", kArray) == R"(["a", 1, null])");
  CHECK(typed_value("{'a': True}", kObject) == R"({"a": true})");
  CHECK(typed_value("[1, 2]", kArray | kNull) == "[1, 2]");
  // Not of the type: as before.
  CHECK(typed_value("many", kNumber) == "\"many\"");
  CHECK(typed_value("{'a': 1}", kArray) == R"("{'a': 1}")");
  CHECK(typed_value("7", 0) == "7");
  CHECK(typed_value("True", 0) == "\"True\"");
  CHECK(typed_value("", kNumber) == "\"\"");
}

TEST_CASE("literals of Python") {
  const auto json = [](std::string_view text) { return python_literal(text).value_or("none"); };
  CHECK(json("{'a': (1, -2.5e3,), \"b\": [], 3: {}}") == R"({"a": [1, -2.5e3], "b": [], "3": {}})");
  CHECK(json(R"('it\'s \x41\u00e9\n' "more")") == "\"it's A\u00e9\\nmore\"");
  CHECK(json("1_000") == "1000");
  for (const char* text :
       {"", "[1", "{'a'}", "'a", "f(1)", "nan", "[1] 2", "{[1]: 2}", "'\\ud800'", "01", "1.2.3"})
    CHECK_MESSAGE(json(text) == "none", text);
  const std::string deep(5000, '[');
  CHECK(json(deep) == "none");
  const auto calls = python_calls("[a.b(x=1, y='z'), c()]");
  REQUIRE(calls);
  CHECK((*calls)[0].name == "a.b");
  CHECK((*calls)[0].arguments == R"({"x": 1, "y": "z"})");
  CHECK((*calls)[1].arguments == "{}");
  for (const char* text : {"[f(1)]", "f()", "[f(x=)]", "[]", "[f() g()]"})
    CHECK_MESSAGE(!python_calls(text), text);
}

}  // namespace
}  // namespace weft::reply
