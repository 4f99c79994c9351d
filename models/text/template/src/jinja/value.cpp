#include "jinja/value.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>

#include <locale.h>

#include "weft/base/keyed_hash.h"
#include "weft/base/utf8.h"

namespace weft::jinja {
namespace {

std::size_t count_characters(std::string_view text) {
  std::size_t n = 0;
  for (const char c : text) n += (c & 0xC0) != 0x80;
  return n;
}

// Clips the ranges of `from` to begin .. end and appends them at `to_offset`.
void copy_foreign(const std::vector<TextRange>& from, std::size_t begin, std::size_t end,
                  std::size_t to_offset, std::vector<TextRange>& to) {
  auto it = std::ranges::lower_bound(from, begin + 1, {}, &TextRange::end);
  for (; it != from.end() && it->begin < end; ++it) {
    const std::size_t b = std::max(it->begin, begin) - begin + to_offset;
    const std::size_t e = std::min(it->end, end) - begin + to_offset;
    if (!to.empty() && to.back().end == b)
      to.back().end = e;
    else if (b < e)
      to.push_back({b, e});
  }
}

constexpr std::size_t kIndexFrom = 8;  // smaller dicts are searched one by one

double number(const Value& v) {
  return v.is(Kind::real)      ? v.real
         : v.is(Kind::boolean) ? static_cast<double>(v.boolean)
                               : static_cast<double>(v.integer);
}
void check_depth(const Heap& heap, int depth) {
  if (depth > kMaxValueDepth) heap.fail("a value is nested more than {} deep", kMaxValueDepth);
}

}  // namespace

void TextBuilder::add(const Str& part, std::size_t begin, std::size_t end) {
  copy_foreign(part.foreign, begin, end, text.size(), foreign);
  text.append(part.text, begin, end - begin);
}

void TextBuilder::add_foreign(std::string_view part) {
  if (part.empty()) return;
  const std::size_t begin = text.size();
  text += part;
  if (!foreign.empty() && foreign.back().end == begin)
    foreign.back().end = text.size();
  else
    foreign.push_back({begin, text.size()});
}

const Str* Heap::str(std::string_view text) {
  check_length(text.size());
  charge(text.size() + sizeof(Str));
  return &strs_.emplace_back(Str{std::string(text), {}, false, count_characters(text)});
}

const Str* Heap::str(TextBuilder&& text) {
  check_length(text.text.size());
  charge(text.text.size() + text.foreign.size() * sizeof(TextRange) + sizeof(Str));
  const std::size_t n = count_characters(text.text);
  return &strs_.emplace_back(Str{std::move(text.text), std::move(text.foreign), text.markup, n});
}

const Str* Heap::slice(const Str& whole, std::size_t begin, std::size_t end) {
  if (begin == 0 && end == whole.text.size()) return &whole;
  TextBuilder out;
  out.markup = whole.markup;
  out.add(whole, begin, end);
  return str(std::move(out));
}

List* Heap::list(std::vector<Value> items, List::Type type) {
  const std::size_t bytes = 64 + items.size() * sizeof(Value);
  return keep(lists_, List{std::move(items), type, 0}, bytes);
}

Scope* Heap::scope(Scope* parent) {
  if (free_.empty()) return keep(scopes_, Scope{parent, false, {}}, 96);
  Scope* scope = free_.back();
  free_.pop_back();
  scope->parent = parent;
  return scope;
}

void Heap::release_scope(Scope* scope) {
  if (scope->captured) return;
  scope->names.clear();
  free_.push_back(scope);
}

void Heap::charge(std::size_t bytes) {
  step(bytes / 64 + 1);
  if (bytes > limits_.memory - bytes_)
    exceed("rendering takes more than {} bytes of memory", limits_.memory);
  bytes_ += bytes;
}

void Heap::step(std::size_t n) {
  if (n > limits_.steps - steps_) exceed("rendering takes more than {} steps", limits_.steps);
  steps_ += n;
}

void Heap::check_length(std::size_t bytes) const {
  if (bytes > limits_.output) exceed("a text is longer than {} bytes", limits_.output);
}

void Heap::fail_text(std::string message, Cause cause) const {
  const Position p = position(source_, at);
  throw ChatTemplateError(p.line, p.column, std::move(message), cause);
}

std::string_view type_name(const Value& v) {
  switch (v.kind) {
    case Kind::undefined:
      return "Undefined";
    case Kind::none:
      return "NoneType";
    case Kind::boolean:
      return "bool";
    case Kind::integer:
    case Kind::big:
      return "int";
    case Kind::real:
      return "float";
    case Kind::string:
      return v.text->markup ? "Markup" : "str";
    case Kind::dict:
      return "dict";
    case Kind::space:
      return "Namespace";
    case Kind::callable:
      return v.callable->macro ? "Macro" : "function";
    case Kind::loop:
      return "LoopContext";
    case Kind::list:
      break;
  }
  static constexpr std::string_view kLists[] = {
      "list", "tuple", "range", "generator", "dict_keys", "dict_values", "dict_items"};
  return kLists[static_cast<std::size_t>(v.list->type)];
}

bool truth(const Value& v) {
  switch (v.kind) {
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
      return v.boolean;
    case Kind::integer:
      return v.integer != 0;
    case Kind::real:
      return v.real != 0;
    case Kind::string:
      return !v.text->text.empty();
    case Kind::list:
      return v.list->type == List::Type::iterator || !v.list->items.empty();
    case Kind::dict:
      return !v.dict->items.empty();
    default:
      return true;
  }
}

bool equal(Heap& heap, const Value& a, const Value& b, int depth) {
  heap.step();
  if (a.is_number() && b.is_number()) {
    if (a.is(Kind::real) || b.is(Kind::real)) return number(a) == number(b);
    return whole(a) == whole(b);
  }
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::undefined:
    case Kind::none:
      return true;
    case Kind::string:
    case Kind::big:
      heap.scan(std::min(a.text->text.size(), b.text->text.size()));
      return a.text->text == b.text->text;
    case Kind::list: {
      if (a.list == b.list) return true;
      if (a.list->type != b.list->type || a.list->type == List::Type::iterator) return false;
      check_depth(heap, depth);
      return std::ranges::equal(a.list->items, b.list->items, [&](const Value& x, const Value& y) {
        return equal(heap, x, y, depth + 1);
      });
    }
    case Kind::dict: {
      if (a.dict->items.size() != b.dict->items.size()) return false;
      check_depth(heap, depth);
      return std::ranges::all_of(a.dict->items, [&](const auto& item) {
        const Value* other = b.dict->find(heap, item.first);
        return other && equal(heap, item.second, *other, depth + 1);
      });
    }
    case Kind::callable:
      return a.callable == b.callable;
    case Kind::loop:
      return a.loop == b.loop;
    default:
      return a.dict == b.dict;
  }
}

int compare(Heap& heap, std::string_view op, const Value& a, const Value& b, int depth) {
  heap.step();
  if (a.is_number() && b.is_number()) {
    if (a.is(Kind::real) || b.is(Kind::real)) {
      const double x = number(a), y = number(b);
      return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;  // 2: neither, as of nan
    }
    return whole(a) < whole(b) ? -1 : whole(a) > whole(b);
  }
  if (a.is(Kind::string) && b.is(Kind::string)) {
    heap.scan(std::min(a.text->text.size(), b.text->text.size()));
    const int order = a.text->text.compare(b.text->text);
    return order < 0 ? -1 : order > 0;
  }
  const auto sequence = [](const Value& v) {
    return v.is(Kind::list) && v.list->type <= List::Type::tuple;
  };
  if (sequence(a) && sequence(b) && a.list->type == b.list->type) {
    check_depth(heap, depth);
    const std::size_t n = std::min(a.list->items.size(), b.list->items.size());
    for (std::size_t i = 0; i < n; ++i) {
      const Value &x = a.list->items[i], &y = b.list->items[i];
      if (!equal(heap, x, y, depth + 1)) return compare(heap, op, x, y, depth + 1);
    }
    return a.list->items.size() < b.list->items.size()   ? -1
           : a.list->items.size() > b.list->items.size() ? 1
                                                         : 0;
  }
  for (const Value* v : {&a, &b})
    if (v->is(Kind::undefined)) heap.fail_text(v->text->text);
  heap.fail("'{}' cannot compare values of type {} and {}", op, type_name(a), type_name(b));
}

// Equal numbers have equal hashes, those of 0 and -0 too.
static std::uint64_t hash_of(double number) {
  const auto bytes = std::bit_cast<std::array<char, sizeof number>>(number == 0 ? 0.0 : number);
  return keyed_hash({bytes.data(), bytes.size()});
}

std::size_t hash(Heap& heap, const Value& v, int depth) {
  heap.step();
  switch (v.kind) {
    case Kind::boolean:
    case Kind::integer:
      return hash_of(static_cast<double>(whole(v)));
    case Kind::real:
      return hash_of(v.real);
    case Kind::string:
    case Kind::big:
      heap.scan(v.text->text.size());
      return keyed_hash(v.text->text);
    case Kind::list:
      if (v.list->type == List::Type::tuple) {
        check_depth(heap, depth);
        std::size_t all = 7;
        for (const Value& item : v.list->items) all = all * 31 + hash(heap, item, depth + 1);
        return all;
      }
      [[fallthrough]];
    case Kind::dict:
      heap.fail("a value of type {} cannot be a key", type_name(v));
    default:
      return static_cast<std::size_t>(v.kind);
  }
}

template <class Equal>
const Value* Dict::find_if(std::size_t hash, const Equal& equal) const {
  const auto [first, last] = index.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (equal(items[it->second].first)) return &items[it->second].second;
  }
  return nullptr;
}

const Value* Dict::find(Heap& heap, const Value& key) const {
  const std::size_t code = hash(heap, key);
  const auto same = [&](const Value& other) { return equal(heap, key, other); };
  if (!index.empty()) return find_if(code, same);
  const auto it = std::ranges::find_if(items, [&](const auto& item) { return same(item.first); });
  return it == items.end() ? nullptr : &it->second;
}

const Value* Dict::find(std::string_view key) const {
  const auto same = [&](const Value& v) { return v.is(Kind::string) && v.text->text == key; };
  if (!index.empty()) return find_if(keyed_hash(key), same);
  const auto it = std::ranges::find_if(items, [&](const auto& item) { return same(item.first); });
  return it == items.end() ? nullptr : &it->second;
}

void Dict::set(Heap& heap, const Value& key, const Value& value) {
  if (const Value* known = find(heap, key)) {
    *const_cast<Value*>(known) = value;
    return;
  }
  heap.charge(2 * sizeof(Value) + 48);
  items.emplace_back(key, value);
  if (items.size() <= kIndexFrom) return;
  for (std::size_t i = index.empty() ? 0 : items.size() - 1; i < items.size(); ++i)
    index.emplace(hash(heap, items[i].first), i);
}

bool iterable(const Value& v) {
  switch (v.kind) {
    case Kind::undefined:
    case Kind::string:
    case Kind::list:
    case Kind::dict:
    case Kind::loop:
      return true;
    default:
      return false;
  }
}

std::vector<Value> iterate(Heap& heap, const Value& v) {
  switch (v.kind) {
    case Kind::undefined:
      return {};
    case Kind::string: {
      const Str& s = *v.text;
      std::vector<Value> items;
      heap.charge(s.length * sizeof(Value));
      items.reserve(s.length);
      for (std::size_t at = 0; at < s.text.size();) {
        const std::size_t n = decode_utf8(s.text, at).length;
        items.push_back(Value::from(heap.slice(s, at, at + n)));
        at += n;
      }
      return items;
    }
    case Kind::list: {
      List& list = *v.list;
      heap.charge(list.items.size() * sizeof(Value));
      if (list.type != List::Type::iterator) return list.items;
      const std::size_t from = std::exchange(list.taken, list.items.size());
      return {list.items.begin() + static_cast<std::ptrdiff_t>(from), list.items.end()};
    }
    case Kind::dict: {
      std::vector<Value> keys;
      heap.charge(v.dict->items.size() * sizeof(Value));
      for (const auto& item : v.dict->items) keys.push_back(item.first);
      return keys;
    }
    case Kind::loop: {
      std::vector<Value> rest(v.loop->items.begin() + static_cast<std::ptrdiff_t>(v.loop->at),
                              v.loop->items.end());
      heap.charge(rest.size() * sizeof(Value));
      return rest;
    }
    default:
      heap.fail("a value of type {} has no elements", type_name(v));
  }
}

std::optional<double> read_real(const std::string& text) {
  double d = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, d);
  if (read.ec == std::errc::invalid_argument || read.ptr != end) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) {
    static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
    d = strtod_l(text.c_str(), nullptr, plain);
  }
  return d;
}

}  // namespace weft::jinja
