#include "weft/base/knob.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace weft {
namespace {

struct Trial {
  int n = 40;
  float p = 0.5F;
  bool on = false;
};

constexpr Knob<Trial> kKnobs[] = {
    {{.name = "n", .doc = "Number of items; 0 keeps all.", .flags = "--n", .aliases = {"num", "k"}},
     &Trial::n,
     {.min = -1}},
    {{.name = "p", .doc = "Share of items.", .no_flag = "nobody sets it"}, &Trial::p, {0, 1}},
    {{.name = "on", .doc = "Switch of all."}, &Trial::on},
};

TEST_CASE("knobs read and set the members of a struct") {
  const Trial initial;
  std::string text;
  for_each_knob<Trial>(kKnobs, initial, [&](const Knob<Trial>& knob, const auto& value) {
    text += fmt::format("{}={} ", knob.name, value);
  });
  CHECK(text == "n=40 p=0.5 on=false ");

  Trial changed;
  for_each_knob<Trial>(kKnobs, changed, [](const Knob<Trial>&, auto& value) {
    if constexpr (std::same_as<std::remove_reference_t<decltype(value)>, int>) value = 7;
  });
  CHECK(changed.n == 7);
  CHECK(changed.p == 0.5F);
}

TEST_CASE("names of knobs begin with the canonical one") {
  CHECK(kKnobs[0].names() == std::vector<std::string_view>{"n", "num", "k"});
  CHECK(kKnobs[1].names() == std::vector<std::string_view>{"p"});
  const KnobText texts[] = {{.name = "a", .doc = "First."}, {.name = "b", .doc = "Second."}};
  CHECK(find_knob(texts, "b").doc == "Second.");
}

TEST_CASE("ranges are inclusive, and end where the type does") {
  CHECK(expected_number(false, {}) == "a number");
  CHECK(expected_number(false, {0.001, 1000}) == "a number from 0.001 to 1000");
  CHECK(expected_number(true, {.min = -1}) == "a whole number from -1");
  CHECK(expected_number(true, {.max = 1e9}) == "a whole number up to 1000000000");
  CHECK(kKnobs[1].range.contains(1));
  CHECK_FALSE(kKnobs[1].range.contains(1.5));
  CHECK_FALSE(kKnobs[1].range.contains(std::numeric_limits<double>::quiet_NaN()));
  const KnobRange whole = range_in<int>(kKnobs[0].range);
  CHECK(whole.min == -1);
  CHECK(whole.max == std::numeric_limits<int>::max());
  const KnobRange real = range_in<float>({.min = 0});
  CHECK(real.min == 0);
  CHECK(real.max == static_cast<double>(std::numeric_limits<float>::max()));
  CHECK(expected_number(false, real) == "a number from 0 to 3.40282e+38");
  CHECK_FALSE(range_in<float>({}).contains(-1e39));
}

}  // namespace
}  // namespace weft
