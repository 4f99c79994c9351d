// Every function that templates can call costs steps in proportion to what it reads.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"

#include "jinja/natives.h"

namespace weft::jinja {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 18, kItems = 10'000;

// Functions that look only at the kind or the size of a value. Those marked with * read it, but
// charge for what they have read: they have checks of their own below.
const std::set<std::string_view> kConstant = {
    // filters
    "attr", "count", "d", "default", "length",
    // tests
    "boolean", "callable", "defined", "escaped", "false", "filter", "float", "integer", "iterable",
    "mapping", "none", "number", "sequence", "string", "test", "true", "undefined",
    // * tests that compare, and end at the first difference
    "!=", "<", "<=", "==", ">", ">=", "eq", "equalto", "ge", "greaterthan", "gt", "in", "le",
    "lessthan", "lt", "ne", "sameas",
    // methods; * get, pop
    "append", "cycle", "get", "is_integer", "pop",
    // methods that read the text as far as their argument is long
    "endswith", "removeprefix", "removesuffix", "startswith"};

// Steps of one call. Whether it succeeds does not matter.
std::size_t steps_of(const NativeRow& row, const Value& self, const std::vector<Value>& arguments,
                     Runtime& r) {
  const std::size_t before = r.heap.steps();
  Args args{.list = arguments};
  try {
    run_native(r, row, self, args);
  } catch (const Error&) {
  }
  return r.heap.steps() - before;
}

ChatRenderLimits without_limits() {
  return {.steps = SIZE_MAX, .memory = SIZE_MAX, .output = SIZE_MAX};
}

void check_rows(std::string_view table, std::span<const NativeRow> rows, const Value& self,
                std::size_t least, Runtime& r) {
  const Value x = r.heap.text("x");
  const Value number = Value::from(std::int64_t{2});
  for (const NativeRow& row : rows) {
    if (!row.run || kConstant.contains(row.name)) continue;
    for (const std::vector<Value>& arguments :
         {std::vector<Value>{}, {x}, {x, x}, {number}, {number, x}, {r.heap.text("abs")}}) {
      CAPTURE(table);
      CAPTURE(row.name);
      CAPTURE(arguments.size());
      CHECK(steps_of(row, self, arguments, r) >= least);
    }
  }
}

TEST_CASE("a function costs what it reads") {
  Runtime r("", without_limits());
  const Value text = r.heap.text(std::string(kBytes, '7'));
  Dict* dict = r.heap.dict();
  for (std::size_t i = 0; i < kItems; ++i)
    dict->set(r.heap, Value::from(static_cast<std::int64_t>(i)), Value::none());
  const Value map = Value::from(dict);
  for (const auto rows : {filter_rows(), number_filter_rows(), test_rows(), string_methods()})
    check_rows("of a text", rows, text, kBytes / 8, r);
  const Value numbers =
      Value::from(r.heap.list(std::vector<Value>(kItems, Value::from(std::int64_t{7}))));
  for (const auto rows : {filter_rows(), sequence_filter_rows(), test_rows(), methods_of(numbers)})
    check_rows("of a list", rows, numbers, kItems, r);
  for (const auto rows : {filter_rows(), sequence_filter_rows(), test_rows(), methods_of(map)})
    check_rows("of a dict", rows, map, kItems, r);
}

TEST_CASE("a function costs what its arguments hold") {
  Runtime r("", without_limits());
  const Value text = r.heap.text(std::string(kBytes, '7')), x = r.heap.text("x");
  for (const auto rows : {filter_rows(), number_filter_rows(), sequence_filter_rows(),
                          function_rows(), string_methods()}) {
    for (const NativeRow& row : rows) {
      if (row.cost.reads == NativeCost::Reads::nothing) continue;
      CAPTURE(row.name);
      CHECK(steps_of(row, x, {text}, r) >= kBytes / 8);
    }
  }
}

TEST_CASE("comparisons cost what they compare") {
  Runtime r("", without_limits());
  const Value a = r.heap.text(std::string(kBytes, '7')), b = r.heap.text(std::string(kBytes, '7'));
  const auto many = [&] {
    return Value::from(r.heap.list(std::vector<Value>(kItems, Value::from(std::int64_t{7}))));
  };
  const Value all = many(), same = many();
  for (const NativeRow& row : test_rows()) {
    CAPTURE(row.name);
    static const std::set<std::string_view> kCompare = {
        "!=",          "<",  "<=", "==", ">",        ">=", "eq", "equalto", "ge",
        "greaterthan", "gt", "in", "le", "lessthan", "lt", "ne", "sameas"};
    if (!kCompare.contains(row.name)) continue;
    CHECK(steps_of(row, a, {b}, r) >= kBytes / 64);
    if (row.name != "in" && row.name != "sameas") CHECK(steps_of(row, all, {same}, r) >= kItems);
  }
  CHECK(steps_of(*find_row(test_rows(), "in"), Value::none(), {all}, r) >= kItems);
  Dict* dict = r.heap.dict();
  dict->set(r.heap, a, Value::none());
  const Value map = Value::from(dict);
  CHECK(steps_of(*find_row(methods_of(map), "get"), map, {b}, r) >= kBytes / 64);
  CHECK(steps_of(*find_row(methods_of(all), "pop"), all, {Value::from(std::int64_t{0})}, r) >=
        kItems / 8);
}

}  // namespace
}  // namespace weft::jinja
