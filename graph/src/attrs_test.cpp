#include "weft/graph/attrs.h"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/graph/graph.h"

namespace weft {

constexpr std::array<NodeKind, 2> all_values(NodeKind) {
  return {NodeKind::input, NodeKind::state};
}

namespace {

struct AllAttrs {
  float f = 0.1f;
  double inf = HUGE_VAL;
  std::int64_t n = -3;
  int small = 7;
  bool b = true;
  NodeKind kind = NodeKind::state;
  static constexpr auto fields() {
    using A = AllAttrs;
    return std::tuple{field("f", &A::f),         field("inf", &A::inf), field("n", &A::n),
                      field("small", &A::small), field("b", &A::b),     field("kind", &A::kind)};
  }
};

#ifndef NDEBUG
TEST_CASE("attributes are of the type that they were made from") {
  const Attrs attrs = AllAttrs{};
  CHECK(attrs.as<AllAttrs>().small == 7);
  CHECK_THROWS_AS(attrs.as<NoAttrs>(), ValueError);
  CHECK_THROWS_AS(Attrs().as<AllAttrs>(), ValueError);
}
#endif

TEST_CASE("attributes print as JSON") {
  CHECK(Attrs(AllAttrs{}).to_json() ==
        R"({"f":0.1,"inf":"inf","n":-3,"small":7,"b":true,"kind":"state"})");
  CHECK(Attrs(AllAttrs{.f = NAN}).to_json().starts_with(R"({"f":"nan",)"));
  CHECK(Attrs().to_json() == "{}");
}

TEST_CASE("attributes compare by type and by the bits of their fields") {
  CHECK(Attrs(AllAttrs{}) == Attrs(AllAttrs{}));
  CHECK_FALSE(Attrs(AllAttrs{}) == Attrs(AllAttrs{.n = 3}));
  CHECK_FALSE(Attrs(AllAttrs{}) == Attrs(AllAttrs{.kind = NodeKind::weight}));
  CHECK_FALSE(Attrs(AllAttrs{}) == Attrs());
  // Ops may distinguish the two zeros, and a NaN must not make a node differ from itself.
  CHECK_FALSE(Attrs(AllAttrs{.f = 0.0f}) == Attrs(AllAttrs{.f = -0.0f}));
  CHECK(Attrs(AllAttrs{.f = NAN}) == Attrs(AllAttrs{.f = NAN}));
}

TEST_CASE("attributes are visited in order, each in its own type") {
  std::vector<std::string> seen;
  Attrs(AllAttrs{}).for_each([&](std::string_view name, const AttrValue& value) {
    const char* types[] = {"bool", "integer", "float", "double", "text"};
    seen.push_back(std::string(name) + " " + types[value.index()] + " " + to_string(value));
  });
  CHECK(seen == std::vector<std::string>{"f float 0.1", "inf double inf", "n integer -3",
                                         "small integer 7", "b bool true", "kind text state"});
}

}  // namespace
}  // namespace weft
