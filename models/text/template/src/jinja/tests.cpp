// The tests of templates: what stands behind `is`.
#include <algorithm>

#include "jinja/natives.h"

namespace weft::jinja {
namespace {

template <Kind K>
Value is_kind(Runtime&, const Value& v, Args&) {
  return Value::from(v.is(K));
}
Value is_defined(Runtime&, const Value& v, Args&) {
  return Value::from(!v.is(Kind::undefined));
}
Value is_integer(Runtime&, const Value& v, Args&) {
  return Value::from(v.is(Kind::integer) || v.is(Kind::big));
}
Value is_number(Runtime&, const Value& v, Args&) {
  return Value::from(v.is_number() || v.is(Kind::big));
}
Value is_true(Runtime&, const Value& v, Args&) {
  return Value::from(v.is(Kind::boolean) && v.boolean);
}
Value is_false(Runtime&, const Value& v, Args&) {
  return Value::from(v.is(Kind::boolean) && !v.boolean);
}
Value is_iterable(Runtime&, const Value& v, Args&) {
  return Value::from(iterable(v));
}
Value is_sequence(Runtime&, const Value& v, Args&) {
  return Value::from(v.is(Kind::undefined) || v.is(Kind::string) || v.is(Kind::dict) ||
                     (v.is(Kind::list) && v.list->type <= List::Type::range));
}
Value is_callable(Runtime&, const Value& v, Args&) {
  // An undefined value has __call__, which fails.
  return Value::from(v.is(Kind::callable) || v.is(Kind::loop) || v.is(Kind::undefined));
}
// v % 2 is Rest.
template <int Rest>
Value has_rest(Runtime& r, const Value& v, Args&) {
  const Value two = Value::from(std::int64_t{2}), rest = Value::from(std::int64_t{Rest});
  return Value::from(equal(r.heap, apply_operator(r, "%", v, two), rest));
}
const Value& other(Runtime& r, Args& a) {
  const Value* v = a.get(0, "other");
  if (!v) r.heap.fail("this test needs an argument");
  return *v;
}
Value is_divisible(Runtime& r, const Value& v, Args& a) {
  const Value* by = a.get(0, "num");
  if (!by) r.heap.fail("this test needs an argument");
  return Value::from(equal(r.heap, apply_operator(r, "%", v, *by), Value::from(std::int64_t{0})));
}
Value is_in(Runtime& r, const Value& v, Args& a) {
  const Value* all = a.get(0, "seq");
  if (!all) r.heap.fail("this test needs an argument");
  return Value::from(contains(r, *all, v));
}
Value is_same(Runtime& r, const Value& v, Args& a) {
  const Value& o = other(r, a);
  if (v.kind != o.kind) return Value::from(false);
  // Equal short texts are usually the same object in Python.
  const bool by_value = v.kind <= Kind::string;
  return Value::from(by_value ? equal(r.heap, v, o) : v.list == o.list);
}
Value is_equal(Runtime& r, const Value& v, Args& a) {
  return Value::from(equal(r.heap, v, other(r, a)));
}
Value is_unequal(Runtime& r, const Value& v, Args& a) {
  return Value::from(!equal(r.heap, v, other(r, a)));
}
template <int Low, int High>
Value is_ordered(Runtime& r, const Value& v, Args& a) {
  const int order = compare(r.heap, Low < 0 ? "<" : ">", v, other(r, a));
  return Value::from(order >= Low && order <= High);
}
Value is_upper(Runtime& r, const Value& v, Args&) {
  const Value s = Value::from(to_str(r.heap, v));
  const Value lower = change_case(r, *s.text, Case::lower);
  return Value::from(change_case(r, *s.text, Case::upper).text->text == s.text->text &&
                     lower.text->text != s.text->text);
}
Value is_lower(Runtime& r, const Value& v, Args&) {
  const Value s = Value::from(to_str(r.heap, v));
  const Value upper = change_case(r, *s.text, Case::upper);
  return Value::from(change_case(r, *s.text, Case::lower).text->text == s.text->text &&
                     upper.text->text != s.text->text);
}
Value is_escaped(Runtime&, const Value& v, Args&) {
  return Value::from(v.is(Kind::string) && v.text->markup);
}
Value is_filter(Runtime& r, const Value& v, Args&) {
  const std::string& name = string_of(r, v).text;
  return Value::from(find_filter(name) != nullptr);
}
Value is_test(Runtime& r, const Value& v, Args&) {
  return Value::from(find_row(test_rows(), string_of(r, v).text) != nullptr);
}

constexpr NativeRow kTests[] = {
    {"!=", is_unequal, kReadsNothing},
    {"<", is_ordered<-1, -1>, kReadsNothing},
    {"<=", is_ordered<-1, 0>, kReadsNothing},
    {"==", is_equal, kReadsNothing},
    {">", is_ordered<1, 1>, kReadsNothing},
    {">=", is_ordered<0, 1>, kReadsNothing},
    {"boolean", is_kind<Kind::boolean>, kReadsNothing},
    {"callable", is_callable, kReadsNothing},
    {"defined", is_defined, kReadsNothing},
    {"divisibleby", is_divisible},
    {"eq", is_equal, kReadsNothing},
    {"equalto", is_equal, kReadsNothing},
    {"escaped", is_escaped, kReadsNothing},
    {"even", has_rest<0>},
    {"false", is_false, kReadsNothing},
    {"filter", is_filter, kReadsNothing},
    {"float", is_kind<Kind::real>, kReadsNothing},
    {"ge", is_ordered<0, 1>, kReadsNothing},
    {"greaterthan", is_ordered<1, 1>, kReadsNothing},
    {"gt", is_ordered<1, 1>, kReadsNothing},
    {"in", is_in, kReadsNothing},
    {"integer", is_integer, kReadsNothing},
    {"iterable", is_iterable, kReadsNothing},
    {"le", is_ordered<-1, 0>, kReadsNothing},
    {"lessthan", is_ordered<-1, -1>, kReadsNothing},
    {"lower", is_lower},
    {"lt", is_ordered<-1, -1>, kReadsNothing},
    {"mapping", is_kind<Kind::dict>, kReadsNothing},
    {"ne", is_unequal, kReadsNothing},
    {"none", is_kind<Kind::none>, kReadsNothing},
    {"number", is_number, kReadsNothing},
    {"odd", has_rest<1>},
    {"sameas", is_same, kReadsNothing},
    {"sequence", is_sequence, kReadsNothing},
    {"string", is_kind<Kind::string>, kReadsNothing},
    {"test", is_test, kReadsNothing},
    {"true", is_true, kReadsNothing},
    {"undefined", is_kind<Kind::undefined>, kReadsNothing},
    {"upper", is_upper},
};

}  // namespace

std::span<const NativeRow> test_rows() {
  return kTests;
}

}  // namespace weft::jinja
