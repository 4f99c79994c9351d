#include "weft/api/fields.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "weft/api/errors.h"
#include "weft/api/forms.h"

namespace weft::api {
namespace {

struct Inner {
  std::string name;
  double weight = 0.5;
};
struct Outer {
  std::int64_t n = 16;
  std::optional<bool> on;
  std::vector<std::string> stop;
  std::vector<Inner> parts;
  std::string kind;
};

const Fields<Outer>& table() {
  static const auto inner = Fields<Inner>()
                                .required("name", &Inner::name, nonempty_text(), "a name")
                                .add("weight", &Inner::weight, number(0, 1), "");
  static const auto outer = Fields<Outer>()
                                .add("n", &Outer::n, whole(1, 100), "how many")
                                .add("on", &Outer::on, boolean(), "")
                                .add("stop", &Outer::stop, one_or_list(text()), "")
                                .add("parts", &Outer::parts, list(object(inner), 0, 3), "")
                                .required("kind", &Outer::kind, word({"a", "b"}), "")
                                .refused("image", {"false"}, "images are not supported");
  return outer;
}

std::string problem(std::string_view json) {
  try {
    table().read(parse_body(json));
  } catch (const ApiError& e) {
    CHECK(e.status == 400);
    CHECK((e.param.empty() || std::string_view(e.what()).starts_with(e.param + ": ")));
    return e.what();
  }
  return "";
}

TEST_CASE("a table reads a request") {
  const Outer r = table().read(parse_body(
      R"({"unknown": {"x": [1]}, "n": 3.0, "on": null, "stop": "x", "kind": "b",
          "parts": [{"name": "p", "weight": 1}], "image": false})"));
  CHECK(r.n == 3);
  CHECK_FALSE(r.on);
  CHECK(r.stop == std::vector<std::string>{"x"});
  CHECK(r.parts.at(0).name == "p");
  CHECK(r.parts.at(0).weight == 1.0);
  CHECK(table().read(parse_body(R"({"kind": "a", "stop": ["x", "y"]})")).stop.size() == 2);
}

TEST_CASE("errors name the path, the expected and the actual value") {
  CHECK(problem(R"({})") == "kind: is required");
  CHECK(problem(R"({"kind": null})") == "kind: is required");
  CHECK(problem(R"({"kind": "c"})") == R"(kind: expected "a" or "b", got "c")");
  CHECK(problem(R"({"kind": "a", "n": "ten"})") ==
        R"(n: expected a whole number from 1 to 100, got "ten")");
  CHECK(problem(R"({"kind": "a", "n": 1.5})") ==
        "n: expected a whole number from 1 to 100, got 1.5");
  CHECK(problem(R"({"kind": "a", "n": 0})").starts_with("n: "));
  CHECK(problem(R"({"kind": "a", "n": 1e30})").starts_with("n: "));
  CHECK(problem(R"({"kind": "a", "n": 18446744073709551615})").starts_with("n: "));
  CHECK(problem(R"({"kind": "a", "on": 1})") == "on: expected true or false, got 1");
  CHECK(problem(R"({"kind": "a", "stop": 5})") == "stop: expected a text or a list, got 5");
  CHECK(problem(R"({"kind": "a", "stop": ["x", 5]})") == "stop[1]: expected a text, got 5");
  CHECK(problem(R"({"kind": "a", "parts": [{"name": "p"}, {}]})") == "parts[1].name: is required");
  CHECK(problem(R"({"kind": "a", "parts": [{"name": "p", "weight": 2}]})") ==
        "parts[0].weight: expected a number from 0 to 1, got 2");
  CHECK(problem(R"({"kind": "a", "parts": [1, 2, 3, 4]})") ==
        "parts: may have at most 3 items, got 4");
  CHECK(problem(R"({"kind": "a", "image": {}})") == "image: images are not supported");
}

TEST_CASE("the schema is that of the table") {
  const Json schema = Json::parse(table().schema());
  CHECK(schema["type"] == "object");
  CHECK(schema["required"] == Json::array({"kind"}));
  CHECK(schema["properties"]["n"] ==
        Json::parse(R"({"type": "integer", "minimum": 1, "maximum": 100,
                        "description": "how many", "default": 16})"));
  CHECK(schema["properties"]["parts"]["items"]["required"] == Json::array({"name"}));
  CHECK(schema["properties"]["parts"]["maxItems"] == 3);
}

TEST_CASE("bodies are read strictly") {
  const auto message = [](std::string_view text) -> std::string {
    try {
      parse_body(text);
    } catch (const ApiError& e) {
      CHECK(e.status == 400);
      return e.what();
    }
    return "";
  };
  for (const std::string_view bad : {"",
                                     " ",
                                     "null",
                                     "7",
                                     "[]",
                                     "{\"a\":1} x",
                                     "{\"a\":1}{}",
                                     "{'a':1}",
                                     "{\"a\":1,}",
                                     "{\"a\":NaN}",
                                     "{\"a\":1e999}",
                                     "{\"a\":1/**/}",
                                     "{\"a\":\"\x01\"}",
                                     "{\"a\":\"\xFF\"}",
                                     "{\"a\":\"\xC0\xAF\"}",
                                     "{\"a\":\"\xED\xA0\x80\"}",
                                     R"({"a":"\ud800"})",
                                     R"({"a":"\udc00"})",
                                     R"({"a":1,"a":2})",
                                     "{\"a\"",
                                     "{\"a\":01}"}) {
    CAPTURE(bad);
    CHECK_FALSE(message(bad).empty());
  }
  CHECK(message("{\"a\":\n  nope}").find("line 2, column 4") != std::string::npos);
  CHECK(message(std::string(100'000, '[')).find("nested") != std::string::npos);
  std::string deep = "{\"a\":";
  for (int i = 0; i < kMaxJsonDepth - 1; ++i) deep += "[";
  for (int i = 0; i < kMaxJsonDepth - 1; ++i) deep += "]";
  CHECK(message(deep + "}").empty());
  CHECK(parse_body("{\"a\":\"x\\u0000y\"}")["a"] == "x\xEF\xBF\xBDy");
  std::string many = "{";
  for (int i = 0; i < 100'000; ++i) many += "\"k" + std::to_string(i) + "\":0,";
  CHECK(parse_body(many + "\"z\":0}").size() == 100'001);
  CHECK(message(many + "\"k7\":0}").find("\"k7\"") != std::string::npos);
}

}  // namespace
}  // namespace weft::api
