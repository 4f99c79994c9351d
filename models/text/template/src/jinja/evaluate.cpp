#include <algorithm>

#include "weft/base/utf8.h"

#include "jinja/renderer.h"

namespace weft::jinja {

namespace {

// The elements that a slice [begin:end:step] chooses among n.
struct Indices {
  std::int64_t n = 0, step = 1;
  std::vector<std::size_t> chosen;

  Indices(Renderer& r, const Value (&parts)[3], std::size_t size)
      : n(static_cast<std::int64_t>(size)), step(number(r, parts[2], 1)) {
    if (step == 0) r.heap.fail("the step of a slice must not be 0");
    const std::int64_t begin = bound(r, parts[0], step > 0 ? 0 : n - 1);
    const std::int64_t end = bound(r, parts[1], step > 0 ? n : -1);
    for (std::int64_t i = begin; step > 0 ? i < end : i > end;) {
      chosen.push_back(static_cast<std::size_t>(i));
      if (__builtin_add_overflow(i, step, &i)) break;
    }
    r.heap.charge(chosen.size() * sizeof(std::size_t));
  }

 private:
  static std::int64_t number(Renderer& r, const Value& v, std::int64_t otherwise) {
    if (v.is(Kind::none)) return otherwise;
    if (!v.is(Kind::integer) && !v.is(Kind::boolean))
      r.heap.fail("a slice bound must be an integer or none, got {}", type_name(v));
    return r.integer(v);
  }
  std::int64_t bound(Renderer& r, const Value& v, std::int64_t otherwise) const {
    std::int64_t i = number(r, v, otherwise);
    if (v.is(Kind::none)) return i;
    if (i < 0) i = i < -n ? -1 : i + n;
    if (step > 0) return std::clamp<std::int64_t>(i, 0, n);
    return std::clamp<std::int64_t>(i, -1, n - 1);
  }
};

Value slice_text(Heap& heap, const Str& s, const Indices& indices) {
  const std::vector<std::size_t>& chosen = indices.chosen;
  heap.work(s.text.size());
  if (chosen.empty()) return heap.text("");
  std::vector<std::size_t> starts;  // of characters; empty if each is one byte
  if (!s.ascii()) {
    heap.charge((s.length + 1) * sizeof(std::size_t));
    for (std::size_t at = 0; at < s.text.size(); at += decode_utf8(s.text, at).length)
      starts.push_back(at);
    starts.push_back(s.text.size());
  }
  const auto start = [&](std::size_t i) { return s.ascii() ? i : starts[i]; };
  if (indices.step == 1)
    return Value::from(heap.slice(s, start(chosen.front()), start(chosen.back() + 1)));
  TextBuilder out;
  for (const std::size_t i : chosen) out.add(s, start(i), start(i + 1));
  return Value::from(heap.str(std::move(out)));
}

}  // namespace

Value Renderer::eval(const Node& node) {
  const Deeper deeper(*this);
  heap.at = node.at;
  switch (node.kind) {
    case NodeKind::constant:
      return node.value;
    case NodeKind::name:
      return eval_name(node);
    case NodeKind::list:
    case NodeKind::tuple:
      return eval_list(node);
    case NodeKind::dict:
      return eval_dict(node);
    case NodeKind::attribute:
      return eval_attribute(node);
    case NodeKind::item:
      return eval_item(node);
    case NodeKind::call:
      return eval_call(node);
    case NodeKind::filter:
      return eval_filter(node);
    case NodeKind::test:
      return eval_test(node);
    case NodeKind::not_:
      return Value::from(!truth(eval(*node.kids[0])));
    case NodeKind::negative:
    case NodeKind::positive:
      return eval_sign(node);
    case NodeKind::binary:
      return eval_binary(node);
    case NodeKind::compare:
      return eval_compare(node);
    case NodeKind::concat:
      return eval_concat(node);
    case NodeKind::and_:
    case NodeKind::or_:
      return eval_logic(node);
    case NodeKind::condition:
      return eval_condition(node);
    default:
      heap.fail("not an expression");
  }
}

Value Renderer::eval_name(const Node& node) {
  for (const Scope* s = scope_; s; s = s->parent) {
    heap.step(1 + s->names.size() / 16);
    for (const auto& [name, value] : s->names)
      if (name == node.text) return value;
  }
  return heap.undefined(fmt::format("'{}' is undefined", node.text));
}

Value Renderer::eval_list(const Node& node) {
  std::vector<Value> items;
  for (const NodePtr& kid : node.kids) items.push_back(eval(*kid));
  return Value::from(heap.list(
      std::move(items), node.kind == NodeKind::tuple ? List::Type::tuple : List::Type::list));
}

Value Renderer::eval_dict(const Node& node) {
  Dict* dict = heap.dict();
  for (std::size_t i = 0; i < node.kids.size(); i += 2) {
    const Value key = eval(*node.kids[i]);
    const Value value = eval(*node.kids[i + 1]);
    heap.at = node.kids[i]->at;
    dict->set(heap, key, value);
  }
  return Value::from(dict);
}

Value Renderer::eval_attribute(const Node& node) {
  const Value object = eval(*node.kids[0]);
  heap.at = node.at;
  return attribute(object, node.text);
}

Value Renderer::eval_binary(const Node& node) {
  const Value a = eval(*node.kids[0]);
  const Value b = eval(*node.kids[1]);
  heap.at = node.at;
  return binary(node.text, a, b);
}

Value Renderer::eval_item(const Node& node) {
  const Value object = eval(*node.kids[0]);
  const Node& key_node = *node.kids[1];
  if (key_node.kind == NodeKind::slice) return eval_slice(object, key_node);
  const Value key = eval(key_node);
  heap.at = node.at;
  return item(object, key);
}

Value Renderer::eval_slice(const Value& object, const Node& slice) {
  Value parts[3];
  for (std::size_t i = 0; i < 3; ++i)
    parts[i] = slice.kids[i] ? eval(*slice.kids[i]) : Value::none();
  heap.at = slice.at;
  if (object.is(Kind::undefined)) missing(object);
  const bool text = object.is(Kind::string);
  const bool list = object.is(Kind::list) && object.list->type <= List::Type::range;
  if (object.is(Kind::dict)) heap.fail("a dict cannot be sliced");
  if (!text && !list) heap.fail("a value of type {} cannot be sliced", type_name(object));
  const Indices indices(*this, parts, text ? object.text->length : object.list->items.size());
  if (text) return slice_text(heap, *object.text, indices);
  std::vector<Value> items;
  for (const std::size_t i : indices.chosen) items.push_back(object.list->items[i]);
  return Value::from(heap.list(std::move(items), object.list->type));
}

Value Renderer::eval_call(const Node& node) {
  const Value callee = eval(*node.kids[0]);
  Args args;
  eval_arguments(node, args);
  heap.at = node.at;
  return call(callee, args);
}

Value Renderer::eval_filter(const Node& node) {
  const Value self = node.kids[0] ? eval(*node.kids[0]) : block_text_;
  Args args;
  eval_arguments(node, args);
  heap.at = node.at;
  return filter(node.text, self, args);
}

Value Renderer::eval_test(const Node& node) {
  const Value self = eval(*node.kids[0]);
  Args args;
  eval_arguments(node, args);
  heap.at = node.at;
  return Value::from(test(node.text, self, args));
}

Value Renderer::eval_compare(const Node& node) {
  Value a = eval(*node.kids[0]);
  for (std::size_t i = 0; i < node.words.size(); ++i) {
    const Value b = eval(*node.kids[i + 1]);
    heap.at = node.at;
    const std::string& op = node.words[i];
    bool holds = false;
    if (op == "==" || op == "!=") {
      holds = equal(heap, a, b) == (op == "==");
    } else if (op == "in" || op == "not in") {
      holds = contains(b, a) == (op == "in");
    } else {
      const int order = compare(heap, op, a, b);
      holds = order != 2 && (op == "<"    ? order < 0
                             : op == "<=" ? order <= 0
                             : op == ">"  ? order > 0
                                          : order >= 0);
    }
    if (!holds) return Value::from(false);
    a = b;
  }
  return Value::from(true);
}

Value Renderer::eval_concat(const Node& node) {
  TextBuilder out;
  for (const NodePtr& kid : node.kids) {
    const Str* part = to_str(heap, eval(*kid));
    out.add(*part);
    heap.check_length(out.text.size());
  }
  return Value::from(heap.str(std::move(out)));
}

Value Renderer::eval_condition(const Node& node) {
  if (truth(eval(*node.kids[0]))) return eval(*node.kids[1]);
  if (node.kids[2]) return eval(*node.kids[2]);
  return heap.undefined("the condition of this inline 'if' is false and it has no 'else'");
}

Value Renderer::eval_logic(const Node& node) {
  Value v;
  for (const NodePtr& kid : node.kids) {
    v = eval(*kid);
    if (truth(v) == (node.kind == NodeKind::or_)) break;
  }
  return v;
}

Value Renderer::eval_sign(const Node& node) {
  const Value v = eval(*node.kids[0]);
  heap.at = node.at;
  if (v.is(Kind::undefined)) missing(v);
  const bool minus = node.kind == NodeKind::negative;
  if (!v.is_number()) heap.fail("unary {} needs a number, got {}", minus ? '-' : '+', type_name(v));
  if (v.is(Kind::real)) return Value::from(minus ? -v.real : v.real);
  const std::int64_t i = integer(v);
  return minus ? binary("-", Value::from(std::int64_t{0}), Value::from(i)) : Value::from(i);
}

void Renderer::eval_arguments(const Node& node, Args& args) {
  for (std::size_t i = 1; i < node.kids.size(); ++i) args.list.push_back(eval(*node.kids[i]));
  for (const auto& [name, value] : node.named) args.named.emplace_back(name, eval(*value));
  if (node.all_args) {
    const Value all = eval(*node.all_args);
    for (const Value& v : iterate(heap, all)) args.list.push_back(v);
  }
  if (!node.all_named) return;
  const Value all = eval(*node.all_named);
  if (!all.is(Kind::dict)) heap.fail("** needs a dict, got {}", type_name(all));
  for (const auto& [name, value] : all.dict->items)
    args.named.emplace_back(string(name).text, value);
}

const Value* Args::get(std::size_t place, std::string_view name) {
  if (place < list.size()) {
    taken = std::max(taken, place + 1);
    return &list[place];
  }
  if (name.empty()) return nullptr;
  for (auto& [known, value] : named) {
    if (known != name) continue;
    ++named_taken;
    known = {};
    return &value;
  }
  return nullptr;
}

std::span<const Value> Args::rest(std::size_t from) {
  taken = list.size();
  return std::span(list).subspan(std::min(from, list.size()));
}

const NativeRow* find_row(std::span<const NativeRow> rows, std::string_view name) {
  const auto it = std::ranges::find(rows, name, &NativeRow::name);
  return it == rows.end() ? nullptr : &*it;
}

Value Renderer::run_native(std::string_view name, Native native, const Value& self, Args& args) {
  const Value v = native(*this, self, args);
  if (!args.all_taken()) {
    for (const auto& [left, value] : args.named)
      if (!left.empty()) heap.fail("{}() has no parameter named '{}'", name, left);
    heap.fail("{}() takes at most {} positional arguments, got {}", name, args.taken,
              args.list.size());
  }
  return v;
}

Value Renderer::call(const Value& callee, Args& args) {
  if (callee.is(Kind::undefined)) missing(callee);
  if (callee.is(Kind::loop)) return recurse(*callee.loop, args);
  if (!callee.is(Kind::callable))
    heap.fail("a value of type {} cannot be called", type_name(callee));
  const Callable& c = *callee.callable;
  return c.macro ? call_macro(c, args) : run_native(c.name, c.native, c.self, args);
}

Value Renderer::filter(std::string_view name, const Value& self, Args& args) {
  const Deeper deeper(*this);
  const NativeRow* row = find_filter(name);
  if (!row) heap.fail("unknown filter '{}'", name);
  return run_native(name, row->run, self, args);
}

bool Renderer::test(std::string_view name, const Value& self, Args& args) {
  const NativeRow* row = find_row(test_rows(), name);
  if (!row) heap.fail("unknown test '{}'", name);
  return truth(run_native(name, row->run, self, args));
}

}  // namespace weft::jinja
