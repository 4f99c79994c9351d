#include <algorithm>
#include <cmath>

#include "weft/base/utf8.h"

#include "jinja/natives.h"

namespace weft::jinja {
namespace {

[[noreturn]] void too_large(Runtime& r) {
  r.heap.fail("the number does not fit 64 bits");
}

std::int64_t power(Runtime& r, std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  while (exponent > 0) {
    if (exponent % 2 == 1 && __builtin_mul_overflow(result, base, &result)) too_large(r);
    exponent /= 2;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) too_large(r);
  }
  return result;
}

// Division as in Python: the remainder has the sign of the divisor.
Value divide(Runtime& r, std::string_view op, std::int64_t a, std::int64_t b) {
  if (b == 0) r.heap.fail("division by 0");
  if (op == "/") return Value::from(static_cast<double>(a) / static_cast<double>(b));
  if (a == INT64_MIN && b == -1) too_large(r);
  std::int64_t quotient = a / b, rest = a % b;
  if (rest != 0 && (rest < 0) != (b < 0)) --quotient, rest += b;
  return Value::from(op == "%" ? rest : quotient);
}

Value integers(Runtime& r, std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t c = 0;
  bool over = false;
  if (op == "+")
    over = __builtin_add_overflow(a, b, &c);
  else if (op == "-")
    over = __builtin_sub_overflow(a, b, &c);
  else if (op == "*")
    over = __builtin_mul_overflow(a, b, &c);
  else if (op != "**")
    return divide(r, op, a, b);
  else if (b < 0)
    return Value::from(std::pow(static_cast<double>(a), static_cast<double>(b)));
  else
    c = power(r, a, b);
  if (over) too_large(r);
  return Value::from(c);
}

Value reals(Runtime& r, std::string_view op, double a, double b) {
  if (op == "+") return Value::from(a + b);
  if (op == "-") return Value::from(a - b);
  if (op == "*") return Value::from(a * b);
  if (op == "**") return Value::from(std::pow(a, b));
  if (b == 0) r.heap.fail("division by 0");
  if (op == "/") return Value::from(a / b);
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  if (op == "%") return Value::from(rest);
  return Value::from(std::floor((a - rest) / b + 0.5));
}

Value add_texts(Runtime& r, const Value& a, const Value& b) {
  TextBuilder out;
  const bool markup = a.text->markup || b.text->markup;
  const auto part = [&](const Value& v) {
    return markup && !v.text->markup ? escape_html(r, v).text : v.text;
  };
  const Str *x = part(a), *y = part(b);
  r.heap.charge(x->text.size() + y->text.size());
  out.add(*x);
  out.add(*y);
  out.markup = markup;
  return Value::from(r.heap.str(std::move(out)));
}

Value repeat(Runtime& r, const Value& v, std::int64_t n) {
  const auto times = static_cast<std::size_t>(std::max<std::int64_t>(n, 0));
  const std::size_t size = v.is(Kind::string) ? v.text->text.size() : v.list->items.size();
  const std::size_t each = v.is(Kind::string) ? 1 : sizeof(Value);
  if (size > 0 && times > r.heap.limits().memory / each / size)
    r.heap.exceed("rendering takes more than {} bytes of memory", r.heap.limits().memory);
  r.heap.charge(size * times * each);
  if (v.is(Kind::string)) {
    TextBuilder out;
    out.markup = v.text->markup;
    r.heap.step(1 + (size > 0 ? times / 2 : 0));
    for (std::size_t i = 0; i < times && size > 0; ++i) out.add(*v.text);
    return Value::from(r.heap.str(std::move(out)));
  }
  std::vector<Value> items;
  for (std::size_t i = 0; i < times && size > 0; ++i)
    items.insert(items.end(), v.list->items.begin(), v.list->items.end());
  return Value::from(r.heap.list(std::move(items), v.list->type));
}

bool is_sequence(const Value& v) {
  return v.is(Kind::list) && v.list->type <= List::Type::tuple;
}

}  // namespace

Value apply_operator(Runtime& r, std::string_view op, const Value& a, const Value& b) {
  for (const Value* v : {&a, &b}) {
    // Texts on the left of %, and additions to texts, handle undefined values themselves.
    if (v->is(Kind::undefined) && !(op == "%" && a.is(Kind::string))) fail_undefined(r, *v);
  }
  if (a.is_number() && b.is_number()) {
    if (a.is(Kind::real) || b.is(Kind::real)) return reals(r, op, real(r, a), real(r, b));
    return integers(r, op, whole(a), whole(b));
  }
  if (op == "+") {
    if (a.is(Kind::string) && b.is(Kind::string)) return add_texts(r, a, b);
    if (is_sequence(a) && is_sequence(b) && a.list->type == b.list->type) {
      std::vector<Value> items = a.list->items;
      items.insert(items.end(), b.list->items.begin(), b.list->items.end());
      return Value::from(r.heap.list(std::move(items), a.list->type));
    }
    if (a.is(Kind::string) || is_sequence(a))
      r.heap.fail("cannot append a value of type {} to one of type {}", type_name(b), type_name(a));
  }
  const auto repeatable = [](const Value& v) { return v.is(Kind::string) || is_sequence(v); };
  const auto counts = [](const Value& v) { return v.is(Kind::integer) || v.is(Kind::boolean); };
  if (op == "*" && repeatable(a) && counts(b)) return repeat(r, a, whole(b));
  if (op == "*" && repeatable(b) && counts(a)) return repeat(r, b, whole(a));
  if (op == "%" && a.is(Kind::string)) return format_percent(r, *a.text, b);
  r.heap.fail("{} does not apply to values of type {} and {}", op, type_name(a), type_name(b));
}

bool contains(Runtime& r, const Value& all, const Value& one) {
  switch (all.kind) {
    case Kind::string: {
      if (one.is(Kind::undefined)) fail_undefined(r, one);
      if (!one.is(Kind::string))
        r.heap.fail("'in' looks for strings in a string, not for a value of type {}",
                    type_name(one));
      r.heap.work(all.text->text.size());
      return find_text(all.text->text, one.text->text) != std::string::npos;
    }
    case Kind::dict:
      return all.dict->find(r.heap, one) != nullptr;
    case Kind::undefined:
      return false;
    case Kind::list:
      if (all.list->type != List::Type::iterator)
        return std::ranges::any_of(all.list->items,
                                   [&](const Value& v) { return equal(r.heap, v, one); });
      while (all.list->taken < all.list->items.size())
        if (equal(r.heap, all.list->items[all.list->taken++], one)) return true;
      return false;
    default:
      r.heap.fail("'in' cannot search a value of type {}", type_name(all));
  }
}

std::int64_t integer_of(Runtime& r, const Value& v) {
  if (v.is(Kind::integer) || v.is(Kind::boolean)) return whole(v);
  if (v.is(Kind::undefined)) fail_undefined(r, v);
  r.heap.fail("expected an integer, got {}", type_name(v));
}

const Str& string_of(Runtime& r, const Value& v) {
  if (v.is(Kind::string)) return *v.text;
  if (v.is(Kind::undefined)) fail_undefined(r, v);
  r.heap.fail("expected a string, got {}", type_name(v));
}

void fail_undefined(Runtime& r, const Value& v) {
  r.heap.fail_text(v.text->text);
}

double real(Runtime& r, const Value& v) {
  return v.is(Kind::real) ? v.real : static_cast<double>(integer_of(r, v));
}

namespace {

std::string_view object_name(const Value& v, std::string& buffer) {
  if (v.is(Kind::none)) return "None";
  buffer = fmt::format("{} object", type_name(v));
  return buffer;
}

Value loop_attribute(Runtime& r, Loop& loop, std::string_view name) {
  const auto at = static_cast<std::int64_t>(loop.at);
  const auto n = static_cast<std::int64_t>(loop.items.size());
  if (name == "index") return Value::from(at + 1);
  if (name == "index0") return Value::from(at);
  if (name == "revindex") return Value::from(n - at);
  if (name == "revindex0") return Value::from(n - at - 1);
  if (name == "first") return Value::from(at == 0);
  if (name == "last") return Value::from(at + 1 == n);
  if (name == "length") return Value::from(n);
  if (name == "depth") return Value::from(loop.depth0 + 1);
  if (name == "depth0") return Value::from(loop.depth0);
  if (name == "previtem")
    return at > 0 ? loop.items[loop.at - 1] : r.heap.undefined("there is no previous item");
  if (name == "nextitem")
    return at + 1 < n ? loop.items[loop.at + 1] : r.heap.undefined("there is no next item");
  return Value();
}

Value no_attribute(Runtime& r, const Value& object, std::string_view name) {
  std::string buffer;
  return r.heap.undefined(
      fmt::format("'{}' has no attribute '{}'", object_name(object, buffer), name));
}

Value no_element(Runtime& r, const Value& object, const Value& key) {
  std::string buffer;
  return r.heap.undefined(
      fmt::format("{} has no element {}", object_name(object, buffer), repr(r.heap, key)));
}

}  // namespace

Value attribute_of(Runtime& r, const Value& object, std::string_view name) {
  if (object.is(Kind::undefined)) fail_undefined(r, object);
  if (const NativeRow* method = find_row(methods_of(object), name)) {
    if (!method->run)
      return r.heap.undefined(
          fmt::format("attribute '{}' of a value of type {} is not accessible to templates", name,
                      type_name(object)));
    return Value::from(r.heap.callable(
        {.name = method->name, .native = method->run, .cost = method->cost, .self = object}));
  }
  if (object.is(Kind::dict) || object.is(Kind::space)) {
    if (const Value* v = object.dict->find(name)) return *v;
  } else if (object.is(Kind::loop)) {
    const Value v = loop_attribute(r, *object.loop, name);
    if (!v.is(Kind::undefined) || v.text) return v;
  } else if (object.is(Kind::list) && object.list->group && (name == "grouper" || name == "list")) {
    return object.list->items[name == "list"];
  } else if (object.is(Kind::callable) && name == "name") {
    return r.heap.text(object.callable->name);
  }
  return no_attribute(r, object, name);
}

Value item_of(Runtime& r, const Value& object, const Value& key) {
  if (object.is(Kind::undefined)) fail_undefined(r, object);
  const bool number = key.is(Kind::integer) || key.is(Kind::boolean);
  if (object.is(Kind::dict)) {
    const bool hashable =
        !key.is(Kind::dict) && !(key.is(Kind::list) && key.list->type != List::Type::tuple);
    const Value* v = hashable ? object.dict->find(r.heap, key) : nullptr;
    if (v) return *v;
  } else if (object.is(Kind::list) && object.list->type <= List::Type::range && number) {
    const auto n = static_cast<std::int64_t>(object.list->items.size());
    const std::int64_t i = whole(key) < 0 ? whole(key) + n : whole(key);
    if (i >= 0 && i < n) return object.list->items[static_cast<std::size_t>(i)];
  } else if (object.is(Kind::string) && number) {
    const Str& s = *object.text;
    const auto n = static_cast<std::int64_t>(s.length);
    const std::int64_t i = whole(key) < 0 ? whole(key) + n : whole(key);
    if (i >= 0 && i < n) {
      const std::size_t begin = byte_of(r, s, static_cast<std::size_t>(i));
      return Value::from(r.heap.slice(s, begin, begin + decode_utf8(s.text, begin).length));
    }
  }
  if (!key.is(Kind::string)) return no_element(r, object, key);
  return attribute_of(r, object, key.text->text);
}

std::size_t byte_of(Runtime& r, const Str& s, std::size_t character) {
  if (s.ascii()) return std::min(character, s.text.size());
  r.heap.work(s.text.size());
  const auto starts = [](char c) { return (c & 0xC0) != 0x80; };
  std::size_t at = 0;
  for (std::size_t left = character + 1; at < s.text.size(); ++at)
    if (starts(s.text[at]) && --left == 0) break;
  return at;
}

Value follow(Runtime& r, const Value& v, const Value& path, const Value* otherwise) {
  const auto step = [&](const Value& from, const Value& key) {
    r.heap.step(2);
    const Value found = item_of(r, from, key);
    return found.is(Kind::undefined) && otherwise ? *otherwise : found;
  };
  if (!path.is(Kind::string)) return step(v, path);
  Value at = v;
  std::string_view rest = path.text->text;
  for (;;) {
    const std::size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    const bool digits = !part.empty() && part.size() < 10 &&
                        part.find_first_not_of("0123456789") == std::string_view::npos;
    at = step(at, digits ? Value::from(static_cast<std::int64_t>(std::stoll(std::string(part))))
                         : r.heap.text(part));
    if (dot == std::string_view::npos) return at;
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace weft::jinja
