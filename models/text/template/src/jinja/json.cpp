#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "weft/base/json_string.h"
#include "weft/base/text.h"
#include "weft/base/utf8.h"

#include "jinja/value.h"

namespace weft::jinja {
namespace {

// Not append_json_string(): plain runs keep where they come from (Str), and `ensure_ascii` escapes
// more, as Python's json.dumps() does.
void string_to_json(const Str& s, bool ensure_ascii, TextBuilder& out) {
  out.add("\"");
  std::size_t plain = 0;
  for (std::size_t at = 0; at < s.text.size();) {
    const Utf8Char c = decode_utf8(s.text, at);
    if (c.code >= 0x20 && c.code != '"' && c.code != '\\' && (c.code < 0x7F || !ensure_ascii)) {
      at += c.length;
      continue;
    }
    out.add(s, plain, at);
    std::string escape;
    append_json_escape(escape, c.code);
    out.add(escape);
    at += c.length;
    plain = at;
  }
  out.add(s, plain, s.text.size());
  out.add("\"");
}

std::string real_to_json(double d) {
  if (std::isnan(d)) return "NaN";
  if (std::isinf(d)) return d < 0 ? "-Infinity" : "Infinity";
  return repr(d);
}

void key_to_json(Heap& heap, const Value& key, const JsonStyle& style, TextBuilder& out) {
  switch (key.kind) {
    case Kind::string:
      return string_to_json(*key.text, style.ensure_ascii, out);
    case Kind::none:
    case Kind::boolean:
    case Kind::integer:
    case Kind::big:
    case Kind::real:
      out.add("\"");
      to_json(heap, key, style, out);
      return out.add("\"");
    default:
      heap.fail("tojson: a key of type {} is not allowed", type_name(key));
  }
}

// The text between the brackets, with each item on its own line if requested.
class Items {
 public:
  Items(const JsonStyle& style, TextBuilder& out, int depth)
      : style_(style), out_(out), depth_(depth) {}
  void next() {
    if (!std::exchange(first_, false)) out_.add(style_.item_separator);
    line(depth_ + 1);
  }
  void end() {
    if (!first_) line(depth_);
  }

 private:
  void line(int depth) {
    if (!style_.indented) return;
    out_.add("\n");
    for (int i = 0; i < depth; ++i) out_.add(style_.indent);
  }
  const JsonStyle& style_;
  TextBuilder& out_;
  int depth_;
  bool first_ = true;
};

void list_to_json(Heap& heap, const List& list, const JsonStyle& style, TextBuilder& out,
                  int depth) {
  Items items(style, out, depth);
  out.add("[");
  for (const Value& item : list.items) {
    items.next();
    to_json(heap, item, style, out, depth + 1);
  }
  items.end();
  out.add("]");
}

void dict_to_json(Heap& heap, const Dict& dict, const JsonStyle& style, TextBuilder& out,
                  int depth) {
  auto pairs = dict.items;
  heap.charge(pairs.size() * 2 * sizeof(Value));
  if (style.sort_keys) {
    std::stable_sort(pairs.begin(), pairs.end(), [&](const auto& a, const auto& b) {
      return compare(heap, "<", a.first, b.first) < 0;
    });
  }
  Items items(style, out, depth);
  out.add("{");
  for (const auto& [key, value] : pairs) {
    items.next();
    key_to_json(heap, key, style, out);
    out.add(style.key_separator);
    to_json(heap, value, style, out, depth + 1);
  }
  items.end();
  out.add("}");
}

// Builds values from parser events, without recursion.
class Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Reader(Heap& heap, std::string_view what, Foreign foreign)
      : heap_(heap), what_(what), foreign_(foreign) {}
  Value result;

  bool null() override { return put(Value::none()); }
  bool boolean(bool b) override { return put(Value::from(b)); }
  bool number_integer(std::int64_t n) override { return put(Value::from(n)); }
  bool number_unsigned(std::uint64_t n) override {
    if (n <= static_cast<std::uint64_t>(INT64_MAX))
      return put(Value::from(static_cast<std::int64_t>(n)));
    return put(Value::from(heap_.str(std::to_string(n)), Kind::big));
  }
  bool number_float(double d, const std::string& text) override {
    if (text.find_first_of(".eE") == std::string::npos)
      return put(Value::from(heap_.str(text), Kind::big));
    return put(Value::from(d));
  }
  bool string(std::string& text) override { return put(make(text)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Value::from(heap_.dict())); }
  bool key(std::string& text) override {
    if (open_.size() == 1)
      from_messages_ = text == "messages" || text == "tools" || text == "documents";
    key_ = open_.size() == 1 && foreign_ == Foreign::messages ? heap_.text(text) : make(text);
    return true;
  }
  bool end_object() override { return open_.pop_back(), true; }
  bool start_array(std::size_t) override { return open(Value::from(heap_.list())); }
  bool end_array() override { return open_.pop_back(), true; }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::json::exception& error) override {
    fail<FormatError>("{} is not JSON: {}", what_, without_json_id(error.what()));
  }

 private:
  Value make(const std::string& text) {
    TextBuilder out;
    const bool strange =
        foreign_ == Foreign::all || (foreign_ == Foreign::messages && from_messages_);
    strange ? out.add_foreign(text) : out.add(text);
    return Value::from(heap_.str(std::move(out)));
  }
  bool open(const Value& v) {
    if (open_.size() + 8 > static_cast<std::size_t>(kMaxValueDepth))
      fail<FormatError>("{} is nested more than {} deep", what_, kMaxValueDepth - 8);
    put(v);
    open_.push_back(v);
    return true;
  }
  bool put(const Value& v) {
    if (open_.empty()) {
      result = v;
    } else if (open_.back().is(Kind::list)) {
      heap_.charge(sizeof(Value));
      open_.back().list->items.push_back(v);
    } else {
      open_.back().dict->set(heap_, key_, v);
    }
    return true;
  }

  Heap& heap_;
  std::string_view what_;
  Foreign foreign_;
  bool from_messages_ = false;
  std::vector<Value> open_;
  Value key_;
};

}  // namespace

void to_json(Heap& heap, const Value& v, const JsonStyle& style, TextBuilder& out, int depth) {
  heap.step();
  if (depth > kMaxValueDepth) heap.fail("a value is nested more than {} deep", kMaxValueDepth);
  heap.check_length(out.text.size());
  switch (v.kind) {
    case Kind::none:
      return out.add("null");
    case Kind::boolean:
      return out.add(v.boolean ? "true" : "false");
    case Kind::integer:
    case Kind::big:
      return out.add(*to_str(heap, v));
    case Kind::real:
      return out.add(real_to_json(v.real));
    case Kind::string:
      heap.work(v.text->text.size() * 2);
      return string_to_json(*v.text, style.ensure_ascii, out);
    case Kind::list:
      if (v.list->type > List::Type::tuple) break;
      return list_to_json(heap, *v.list, style, out, depth);
    case Kind::dict:
      return dict_to_json(heap, *v.dict, style, out, depth);
    default:
      break;
  }
  heap.fail("tojson: a value of type {} has no JSON form", type_name(v));
}

Value from_json(Heap& heap, std::string_view what, std::string_view text, Foreign foreign) {
  Reader reader(heap, what, foreign);
  nlohmann::json::sax_parse(text, &reader);
  return reader.result;
}

}  // namespace weft::jinja
