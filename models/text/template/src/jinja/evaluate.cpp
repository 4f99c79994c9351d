#include "jinja/evaluate.h"

#include <algorithm>

#include "weft/base/utf8.h"

#include "jinja/natives.h"

namespace weft::jinja {

namespace {

// The elements that a slice [begin:end:step] chooses among n.
struct Indices {
  std::int64_t n = 0, step = 1;
  std::vector<std::size_t> chosen;

  Indices(Runtime& r, const Value (&parts)[3], std::size_t size)
      : n(static_cast<std::int64_t>(size)), step(number(r, parts[2], 1)) {
    if (step == 0) r.heap.fail("the step of a slice must not be 0");
    const std::int64_t begin = bound(r, parts[0], step > 0 ? 0 : n - 1);
    const std::int64_t end = bound(r, parts[1], step > 0 ? n : -1);
    const std::int64_t reach = step > 0 ? end - begin : begin - end;
    if (reach > 0)
      r.heap.charge((1 + static_cast<std::size_t>(reach) / magnitude(step)) * sizeof(std::size_t));
    for (std::int64_t i = begin; step > 0 ? i < end : i > end;) {
      chosen.push_back(static_cast<std::size_t>(i));
      if (__builtin_add_overflow(i, step, &i)) break;
    }
  }

 private:
  static std::size_t magnitude(std::int64_t i) {
    return i < 0 ? -static_cast<std::size_t>(i) : static_cast<std::size_t>(i);
  }
  static std::int64_t number(Runtime& r, const Value& v, std::int64_t otherwise) {
    if (v.is(Kind::none)) return otherwise;
    if (!v.is(Kind::integer) && !v.is(Kind::boolean))
      r.heap.fail("a slice bound must be an integer or none, got {}", type_name(v));
    return integer_of(r, v);
  }
  std::int64_t bound(Runtime& r, const Value& v, std::int64_t otherwise) const {
    std::int64_t i = number(r, v, otherwise);
    if (v.is(Kind::none)) return i;
    if (i < 0) i = i < -n ? -1 : i + n;
    if (step > 0) return std::clamp<std::int64_t>(i, 0, n);
    return std::clamp<std::int64_t>(i, -1, n - 1);
  }
};

Value slice_text(Heap& heap, const Str& s, const Indices& indices) {
  const std::vector<std::size_t>& chosen = indices.chosen;
  if (!s.ascii()) heap.work(s.text.size());
  if (chosen.empty()) return heap.text("");
  std::vector<std::size_t> starts;  // where characters start; empty if each is one byte
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

Value Evaluator::eval(const Node& node) {
  const Deeper deeper(runtime_);
  heap_.at = node.at;
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
      heap_.fail("not an expression");
  }
}

Value Evaluator::eval_filters(const Node& filters, const Value& text) {
  const Value before = std::exchange(block_text_, text);
  Value filtered = eval(filters);
  block_text_ = before;
  return filtered;
}

Value Evaluator::eval_name(const Node& node) {
  if (const Value* value = variables_.find(node.text)) return *value;
  return heap_.undefined(fmt::format("'{}' is undefined", node.text));
}

Value Evaluator::eval_list(const Node& node) {
  std::vector<Value> items;
  for (const NodePtr& kid : node.kids) items.push_back(eval(*kid));
  return Value::from(heap_.list(
      std::move(items), node.kind == NodeKind::tuple ? List::Type::tuple : List::Type::list));
}

Value Evaluator::eval_dict(const Node& node) {
  Dict* dict = heap_.dict();
  for (std::size_t i = 0; i < node.kids.size(); i += 2) {
    const Value key = eval(*node.kids[i]);
    const Value value = eval(*node.kids[i + 1]);
    heap_.at = node.kids[i]->at;
    dict->set(heap_, key, value);
  }
  return Value::from(dict);
}

Value Evaluator::eval_attribute(const Node& node) {
  const Value object = eval(*node.kids[0]);
  heap_.at = node.at;
  return attribute_of(runtime_, object, node.text);
}

Value Evaluator::eval_binary(const Node& node) {
  const Value a = eval(*node.kids[0]);
  const Value b = eval(*node.kids[1]);
  heap_.at = node.at;
  return apply_operator(runtime_, node.text, a, b);
}

Value Evaluator::eval_item(const Node& node) {
  const Value object = eval(*node.kids[0]);
  const Node& key_node = *node.kids[1];
  if (key_node.kind == NodeKind::slice) return eval_slice(object, key_node);
  const Value key = eval(key_node);
  heap_.at = node.at;
  return item_of(runtime_, object, key);
}

Value Evaluator::eval_slice(const Value& object, const Node& slice) {
  Value parts[3];
  for (std::size_t i = 0; i < 3; ++i)
    parts[i] = slice.kids[i] ? eval(*slice.kids[i]) : Value::none();
  heap_.at = slice.at;
  if (object.is(Kind::undefined)) fail_undefined(runtime_, object);
  const bool text = object.is(Kind::string);
  const bool list = object.is(Kind::list) && object.list->type <= List::Type::range;
  if (object.is(Kind::dict)) heap_.fail("a dict cannot be sliced");
  if (!text && !list) heap_.fail("a value of type {} cannot be sliced", type_name(object));
  const Indices indices(runtime_, parts, text ? object.text->length : object.list->items.size());
  if (text) return slice_text(heap_, *object.text, indices);
  std::vector<Value> items;
  for (const std::size_t i : indices.chosen) items.push_back(object.list->items[i]);
  return Value::from(heap_.list(std::move(items), object.list->type));
}

Value Evaluator::eval_call(const Node& node) {
  const Value callee = eval(*node.kids[0]);
  Args args;
  eval_arguments(node, args);
  heap_.at = node.at;
  return call(callee, args);
}

Value Evaluator::eval_filter(const Node& node) {
  const Value self = node.kids[0] ? eval(*node.kids[0]) : block_text_;
  Args args;
  eval_arguments(node, args);
  heap_.at = node.at;
  return apply_filter(runtime_, node.text, self, args);
}

Value Evaluator::eval_test(const Node& node) {
  const Value self = eval(*node.kids[0]);
  Args args;
  eval_arguments(node, args);
  heap_.at = node.at;
  return Value::from(apply_test(runtime_, node.text, self, args));
}

Value Evaluator::eval_compare(const Node& node) {
  Value a = eval(*node.kids[0]);
  for (std::size_t i = 0; i < node.words.size(); ++i) {
    const Value b = eval(*node.kids[i + 1]);
    heap_.at = node.at;
    const std::string& op = node.words[i];
    bool holds = false;
    if (op == "==" || op == "!=") {
      holds = equal(heap_, a, b) == (op == "==");
    } else if (op == "in" || op == "not in") {
      holds = contains(runtime_, b, a) == (op == "in");
    } else {
      const int order = compare(heap_, op, a, b);
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

Value Evaluator::eval_concat(const Node& node) {
  TextBuilder out;
  for (const NodePtr& kid : node.kids) {
    const Str* part = to_str(heap_, eval(*kid));
    out.add(*part);
    heap_.check_length(out.text.size());
  }
  return Value::from(heap_.str(std::move(out)));
}

Value Evaluator::eval_condition(const Node& node) {
  if (truth(eval(*node.kids[0]))) return eval(*node.kids[1]);
  if (node.kids[2]) return eval(*node.kids[2]);
  return heap_.undefined("the condition of this inline 'if' is false and it has no 'else'");
}

Value Evaluator::eval_logic(const Node& node) {
  Value v;
  for (const NodePtr& kid : node.kids) {
    v = eval(*kid);
    if (truth(v) == (node.kind == NodeKind::or_)) break;
  }
  return v;
}

Value Evaluator::eval_sign(const Node& node) {
  const Value v = eval(*node.kids[0]);
  heap_.at = node.at;
  if (v.is(Kind::undefined)) fail_undefined(runtime_, v);
  const bool minus = node.kind == NodeKind::negative;
  if (!v.is_number())
    heap_.fail("unary {} needs a number, got {}", minus ? '-' : '+', type_name(v));
  if (v.is(Kind::real)) return Value::from(minus ? -v.real : v.real);
  const std::int64_t i = integer_of(runtime_, v);
  return minus ? apply_operator(runtime_, "-", Value::from(std::int64_t{0}), Value::from(i))
               : Value::from(i);
}

void Evaluator::eval_arguments(const Node& node, Args& args) {
  for (std::size_t i = 1; i < node.kids.size(); ++i) args.list.push_back(eval(*node.kids[i]));
  for (const auto& [name, value] : node.named) args.named.emplace_back(name, eval(*value));
  if (node.all_args) {
    const Value all = eval(*node.all_args);
    for (const Value& v : iterate(heap_, all)) args.list.push_back(v);
  }
  if (!node.all_named) return;
  const Value all = eval(*node.all_named);
  if (!all.is(Kind::dict)) heap_.fail("** needs a dict, got {}", type_name(all));
  for (const auto& [name, value] : all.dict->items)
    args.named.emplace_back(string_of(runtime_, name).text, value);
}

Value Evaluator::call(const Value& callee, Args& args) {
  if (callee.is(Kind::undefined)) fail_undefined(runtime_, callee);
  if (callee.is(Kind::loop)) return bodies_.call_loop(*callee.loop, args);
  if (!callee.is(Kind::callable))
    heap_.fail("a value of type {} cannot be called", type_name(callee));
  const Callable& c = *callee.callable;
  return c.macro ? bodies_.call_macro(c, args)
                 : run_native(runtime_, {c.name, c.native, c.cost}, c.self, args);
}

}  // namespace weft::jinja
