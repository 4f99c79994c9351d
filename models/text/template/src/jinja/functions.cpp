// Global functions of templates, and the methods of lists and dicts.
#include <algorithm>
#include <cmath>

#include "jinja/natives.h"

namespace weft::jinja {
namespace {

constexpr std::int64_t kMaxRange = 100'000;  // as in Jinja's sandbox

Value range(Runtime& r, const Value&, Args& a) {
  const Value *x = a.get(0, ""), *y = a.get(1, ""), *z = a.get(2, "");
  if (!x) r.heap.fail("range() needs an argument");
  const std::int64_t begin = y ? integer_of(r, *x) : 0, end = integer_of(r, y ? *y : *x);
  const std::int64_t step = z ? integer_of(r, *z) : 1;
  if (step == 0) r.heap.fail("the step of range() must not be 0");
  std::vector<Value> items;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end;) {
    if (static_cast<std::int64_t>(items.size()) == kMaxRange)
      r.heap.fail("range() may have at most {} elements", kMaxRange);
    items.push_back(Value::from(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return Value::from(r.heap.list(std::move(items), List::Type::range));
}

// The arguments of dict() and namespace(): a mapping or pairs, then named ones.
Dict* make_dict(Runtime& r, Args& a) {
  Dict* dict = r.heap.dict();
  if (const Value* from = a.get(0, "")) {
    if (from->is(Kind::dict)) {
      for (const auto& [key, value] : from->dict->items) dict->set(r.heap, key, value);
    } else {
      for (const Value& pair : iterate(r.heap, *from)) {
        const std::vector<Value> two = iterate(r.heap, pair);
        if (two.size() != 2) r.heap.fail("a pair of key and value has {} items", two.size());
        dict->set(r.heap, two[0], two[1]);
      }
    }
  }
  for (const auto& [name, value] : a.named) dict->set(r.heap, r.heap.text(name), value);
  a.named.clear();
  return dict;
}

Value dict(Runtime& r, const Value&, Args& a) {
  return Value::from(make_dict(r, a));
}

Value name_space(Runtime& r, const Value&, Args& a) {
  return Value::from(make_dict(r, a), Kind::space);
}

Value raise_exception(Runtime& r, const Value&, Args& a) {
  const Value* message = a.get(0, "message");
  r.heap.fail_text(message ? to_str(r.heap, *message)->text : "the template gave up",
                   ChatTemplateError::Cause::raised);
}

Value strftime_now(Runtime& r, const Value&, Args& a) {
  const Value* given = a.get(0, "format");
  if (!given) r.heap.fail("strftime_now() needs a format");
  std::string format;
  const std::string& text = string_of(r, *given).text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    format += text[i];
    if (text[i] != '%' || i + 1 >= text.size()) continue;
    const char c = text[++i];
    // A time without a zone: these are empty, and there are no microseconds.
    if (c == 'z' || c == 'Z')
      format.pop_back();
    else if (c == 'f')
      format.pop_back(), format += "000000";
    else
      format += c;
  }
  std::tm now{};
  if (r.clock) {
    now = *r.clock;
  } else {
    const std::time_t seconds = std::time(nullptr);
    localtime_r(&seconds, &now);
  }
  if (format.empty()) return r.heap.text("");
  char out[4096];
  const std::size_t n = std::strftime(out, sizeof out, format.c_str(), &now);
  if (n == 0) r.heap.fail("strftime_now: the format is too long");
  return r.heap.text({out, n});
}

Value cycle(Runtime& r, const Value& self, Args& a) {
  const auto all = a.rest(0);
  if (all.empty()) r.heap.fail("loop.cycle() needs a value");
  return all[self.loop->at % all.size()];
}

Value changed(Runtime& r, const Value& self, Args& a) {
  const auto all = a.rest(0);
  const Value now = Value::from(r.heap.list({all.begin(), all.end()}, List::Type::tuple));
  Loop& loop = *self.loop;
  const bool same = loop.has_last && equal(r.heap, loop.last, now);
  loop.has_last = true;
  loop.last = now;
  return Value::from(!same);
}

Value join_on(Runtime& r, const Value& self, Args&) {
  List& state = *self.list;  // the separator, and whether it was called
  if (state.taken++ == 0) return r.heap.text("");
  return state.items[0];
}

Value joiner(Runtime& r, const Value&, Args& a) {
  const Value* separator = a.get(0, "sep");
  const Value state = Value::from(r.heap.list({separator ? *separator : r.heap.text(", ")}));
  return Value::from(r.heap.callable({.name = "joiner", .native = join_on, .self = state}));
}

// A cycler is a namespace whose methods are bound to a list that counts.
Value cycler_next(Runtime&, const Value& self, Args&) {
  List& state = *self.list;
  return state.items[state.taken++ % state.items.size()];
}
Value cycler_reset(Runtime&, const Value& self, Args&) {
  self.list->taken = 0;
  return Value::none();
}
Value cycler(Runtime& r, const Value&, Args& a) {
  const auto all = a.rest(0);
  if (all.empty()) r.heap.fail("cycler() needs a value");
  const Value state = Value::from(r.heap.list({all.begin(), all.end()}));
  Dict* object = r.heap.dict();
  object->set(r.heap, r.heap.text("next"),
              Value::from(r.heap.callable({.name = "next", .native = cycler_next, .self = state})));
  object->set(
      r.heap, r.heap.text("reset"),
      Value::from(r.heap.callable({.name = "reset", .native = cycler_reset, .self = state})));
  return Value::from(object, Kind::space);
}

constexpr NativeRow kFunctions[] = {
    {"cycler", cycler},
    {"dict", dict},
    {"joiner", joiner},
    {"namespace", name_space},
    {"raise_exception", raise_exception},
    {"range", range},
    {"strftime_now", strftime_now},
};

// Methods of dicts.
Value dict_get(Runtime& r, const Value& self, Args& a) {
  const Value *key = a.get(0, ""), *otherwise = a.get(1, "");
  if (!key) r.heap.fail("get() needs a key");
  const Value* found = self.dict->find(r.heap, *key);
  return found ? *found : otherwise ? *otherwise : Value::none();
}
Value dict_items(Runtime& r, const Value& self, Args&) {
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict->items)
    items.push_back(Value::from(r.heap.list({key, value}, List::Type::tuple)));
  return Value::from(r.heap.list(std::move(items), List::Type::items));
}
Value dict_keys(Runtime& r, const Value& self, Args&) {
  return Value::from(r.heap.list(iterate(r.heap, self), List::Type::keys));
}
Value dict_values(Runtime& r, const Value& self, Args&) {
  std::vector<Value> items;
  for (const auto& item : self.dict->items) items.push_back(item.second);
  return Value::from(r.heap.list(std::move(items), List::Type::values));
}
Value dict_copy(Runtime& r, const Value& self, Args&) {
  Dict* copy = r.heap.dict();
  for (const auto& [key, value] : self.dict->items) copy->set(r.heap, key, value);
  return Value::from(copy);
}

Value list_count(Runtime& r, const Value& self, Args& a) {
  const Value* one = a.get(0, "");
  if (!one) r.heap.fail("count() needs a value");
  return Value::from(static_cast<std::int64_t>(std::ranges::count_if(
      self.list->items, [&](const Value& v) { return equal(r.heap, v, *one); })));
}
Value list_index(Runtime& r, const Value& self, Args& a) {
  const Value* one = a.get(0, "");
  if (!one) r.heap.fail("index() needs a value");
  for (std::size_t i = 0; i < self.list->items.size(); ++i)
    if (equal(r.heap, self.list->items[i], *one)) return Value::from(static_cast<std::int64_t>(i));
  r.heap.fail("the list does not contain {}", repr(r.heap, *one));
}
Value list_copy(Runtime& r, const Value& self, Args&) {
  return Value::from(r.heap.list(self.list->items));
}
// Published templates change lists, though the sandbox of transformers refuses it.
Value list_append(Runtime& r, const Value& self, Args& a) {
  const Value* one = a.get(0, "");
  if (!one) r.heap.fail("append() needs a value");
  r.heap.charge(sizeof(Value));
  self.list->items.push_back(*one);
  return Value::none();
}
Value list_pop(Runtime& r, const Value& self, Args& a) {
  std::vector<Value>& items = self.list->items;
  const Value* given = a.get(0, "");
  const auto size = static_cast<std::int64_t>(items.size());
  std::int64_t at = given ? integer_of(r, *given) : -1;
  if (at < 0) at += size;
  if (at < 0 || at >= size) r.heap.fail("pop index out of range: the list has {} items", size);
  const Value taken = items[static_cast<std::size_t>(at)];
  r.heap.scan(items.size() * sizeof(Value));
  items.erase(items.begin() + at);
  return taken;
}
Value is_whole(Runtime&, const Value& self, Args&) {
  return Value::from(std::isfinite(self.real) && self.real == std::trunc(self.real));
}

// Null: the method exists, but would change its object, which Jinja's sandbox refuses.
constexpr NativeRow kDictMethods[] = {
    {"get", dict_get, kReadsNothing},
    {"items", dict_items},
    {"keys", dict_keys},
    {"values", dict_values},
    {"copy", dict_copy},
    {"pop", nullptr},
    {"update", nullptr},
    {"clear", nullptr},
    {"popitem", nullptr},
    {"setdefault", nullptr},
};
constexpr NativeRow kListMethods[] = {
    {"count", list_count}, {"index", list_index},
    {"copy", list_copy},   {"append", list_append, kReadsNothing},
    {"extend", nullptr},   {"insert", nullptr},
    {"remove", nullptr},   {"pop", list_pop, kReadsNothing},
    {"clear", nullptr},    {"sort", nullptr},
    {"reverse", nullptr},
};
constexpr NativeRow kRealMethods[] = {{"is_integer", is_whole, kReadsNothing}};
constexpr NativeRow kLoopMethods[] = {{"cycle", cycle, kReadsNothing}, {"changed", changed}};

}  // namespace

std::span<const NativeRow> function_rows() {
  return kFunctions;
}
std::span<const NativeRow> methods_of(const Value& v) {
  switch (v.kind) {
    case Kind::string:
      return string_methods();
    case Kind::dict:
      return kDictMethods;
    case Kind::real:
      return kRealMethods;
    case Kind::loop:
      return kLoopMethods;
    case Kind::list:
      if (v.list->type == List::Type::list) return kListMethods;
      return v.list->type <= List::Type::range ? std::span(kListMethods).first(2)
                                               : std::span<const NativeRow>();
    default:
      return {};
  }
}

}  // namespace weft::jinja
