#include "jinja/renderer.h"

#include <algorithm>

namespace weft::jinja {

Renderer::Deeper::Deeper(Renderer& r) : renderer(r) {
  r.heap.step();
  if (++r.depth_ > r.heap.limits().depth)
    r.heap.exceed("rendering goes more than {} deep", r.heap.limits().depth);
}

TextBuilder Renderer::run(const Dict& variables) {
  TextBuilder out;
  out_ = &out;
  scope_ = heap.scope(nullptr);
  for (const NativeRow& row : function_rows())
    set_name(row.name,
             Value::from(heap.callable({.name = row.name, .native = row.run, .self = {}})));
  scope_ = heap.scope(scope_);
  for (const auto& [name, value] : variables.items) set_name(name.text->text, value);
  scope_ = heap.scope(scope_);
  run_body(root_);
  return out;
}

Renderer::Flow Renderer::run_body(const Node& body) {
  for (const NodePtr& kid : body.kids) {
    if (const Flow flow = run(*kid); flow != Flow::next) return flow;
  }
  return Flow::next;
}

Renderer::Flow Renderer::run(const Node& node) {
  const Deeper deeper(*this);
  heap.at = node.at;
  switch (node.kind) {
    case NodeKind::data:
      grow(node.text.size());
      out_->add(node.text);
      break;
    case NodeKind::output:
      emit(eval(*node.kids[0]));
      break;
    case NodeKind::body:
      return run_body(node);
    case NodeKind::if_:
      return run_if(node);
    case NodeKind::for_:
      run_for(node);
      break;
    case NodeKind::set:
    case NodeKind::set_block:
      run_set(node);
      break;
    case NodeKind::macro:
      keep_scopes();
      set_name(node.text, Value::from(heap.callable(
                              {.name = node.text, .self = {}, .macro = &node, .closure = scope_})));
      break;
    case NodeKind::call_block:
      run_call(node);
      break;
    case NodeKind::filter_block:
      run_filter(node);
      break;
    case NodeKind::with:
      return run_with(node);
    case NodeKind::block:
      run_scope(*node.kids[0]);
      break;
    case NodeKind::break_:
      return Flow::break_;
    case NodeKind::continue_:
      return Flow::continue_;
    default:
      heap.fail("not a statement");
  }
  return Flow::next;
}

Renderer::Flow Renderer::run_if(const Node& node) {
  for (std::size_t i = 0; i + 1 < node.kids.size(); i += 2) {
    if (truth(eval(*node.kids[i]))) return run_body(*node.kids[i + 1]);
  }
  return node.kids.size() % 2 == 1 ? run_body(*node.kids.back()) : Flow::next;
}

void Renderer::run_scope(const Node& body) {
  Scope* const outer = scope_;
  scope_ = heap.scope(outer);
  run_body(body);
  heap.release_scope(std::exchange(scope_, outer));
}

void Renderer::run_for(const Node& node) {
  const Value all = eval(*node.kids[1]);
  heap.at = node.kids[1]->at;
  if (node.flag) keep_scopes();
  if (!loop(node, iterate(heap, all), 0) && node.kids[4]) run_scope(*node.kids[4]);
}

std::vector<Value> Renderer::filtered(const Node& node, std::vector<Value> items) {
  if (!node.kids[2]) return items;
  Scope* const outer = scope_;
  scope_ = heap.scope(outer);
  std::vector<Value> chosen;
  for (const Value& item : items) {
    assign(*node.kids[0], item);
    if (truth(eval(*node.kids[2]))) chosen.push_back(item);
  }
  heap.release_scope(std::exchange(scope_, outer));
  return chosen;
}

// Returns false if there was nothing to iterate over.
bool Renderer::loop(const Node& node, std::vector<Value> items, std::int64_t depth0) {
  Loop* const loop = heap.loop({.items = filtered(node, std::move(items)),
                                .node = node.flag ? &node : nullptr,
                                .scope = scope_,
                                .depth0 = depth0,
                                .last = {}});
  Scope* const outer = scope_;
  Flow flow = Flow::next;
  for (; loop->at < loop->items.size() && flow != Flow::break_; ++loop->at) {
    scope_ = heap.scope(outer);
    set_name("loop", Value::from(loop));
    heap.at = node.at;
    assign(*node.kids[0], loop->items[loop->at]);
    flow = run(*node.kids[3]);
    heap.release_scope(std::exchange(scope_, outer));
  }
  return !loop->items.empty();
}

// loop(items): runs the body of a recursive loop again.
Value Renderer::recurse(Loop& outer, Args& args) {
  const Value* items = args.get(0, "iterable");
  if (!outer.node) heap.fail("only a loop marked 'recursive' can be called");
  if (!items || !args.all_taken()) heap.fail("loop() takes one argument");
  TextBuilder out;
  TextBuilder* const out_before = std::exchange(out_, &out);
  Scope* const scope_before = std::exchange(scope_, outer.scope);
  const std::size_t at = heap.at;
  if (!loop(*outer.node, iterate(heap, *items), outer.depth0 + 1) && outer.node->kids[4])
    run_scope(*outer.node->kids[4]);
  heap.at = at;
  scope_ = scope_before;
  out_ = out_before;
  return Value::from(heap.str(std::move(out)));
}

Value Renderer::captured(const Node& body) {
  TextBuilder out;
  TextBuilder* const before = std::exchange(out_, &out);
  run_body(body);
  out_ = before;
  return Value::from(heap.str(std::move(out)));
}

void Renderer::run_set(const Node& node) {
  if (node.kind == NodeKind::set) {
    const Value v = eval(*node.kids[1]);
    return assign(*node.kids[0], v);
  }
  Scope* const outer = scope_;
  scope_ = heap.scope(outer);
  Value text = captured(*node.kids[2]);
  heap.release_scope(std::exchange(scope_, outer));
  if (node.kids[1]) {
    const Value before = std::exchange(block_text_, text);
    text = eval(*node.kids[1]);
    block_text_ = before;
  }
  assign(*node.kids[0], text);
}

void Renderer::run_filter(const Node& node) {
  Scope* const outer = scope_;
  scope_ = heap.scope(outer);
  const Value text = captured(*node.kids[1]);
  const Value before = std::exchange(block_text_, text);
  emit(eval(*node.kids[0]));
  block_text_ = before;
  heap.release_scope(std::exchange(scope_, outer));
}

Renderer::Flow Renderer::run_with(const Node& node) {
  Scope* const outer = scope_;
  std::vector<Value> values;
  for (std::size_t i = 2; i < node.kids.size(); i += 2) values.push_back(eval(*node.kids[i]));
  scope_ = heap.scope(outer);
  for (std::size_t i = 0; i < values.size(); ++i) assign(*node.kids[1 + 2 * i], values[i]);
  const Flow flow = run_body(*node.kids[0]);
  heap.release_scope(std::exchange(scope_, outer));
  return flow;
}

void Renderer::run_call(const Node& node) {
  const Node& call_node = *node.kids.back();
  keep_scopes();
  const Value caller = Value::from(
      heap.callable({.name = node.text, .self = {}, .macro = &node, .closure = scope_}));
  const Value callee = eval(*call_node.kids[0]);
  Args args;
  eval_arguments(call_node, args);
  args.named.emplace_back("caller", caller);
  heap.at = call_node.at;
  emit(call(callee, args));
}

// Assigns the parameters of a macro in the current scope.
void Renderer::bind(const Callable& macro, Args& args) {
  const Node& node = *macro.macro;
  const bool block = node.kind == NodeKind::call_block;
  const std::size_t defaults_end = node.kids.size() - (block ? 1 : 0);
  const std::size_t n_defaults = defaults_end - 1;
  const std::size_t first_default = node.words.size() - n_defaults;
  for (std::size_t i = 0; i < node.words.size(); ++i) {
    const std::string& name = node.words[i];
    heap.step(1 + args.named.size() / 16);
    if (const Value* given = args.get(i, name))
      set_name(name, *given);
    else if (i >= first_default)
      set_name(name, eval(*node.kids[1 + i - first_default]));
    else
      set_name(name, heap.undefined(fmt::format("parameter '{}' was not provided", name)));
  }
  const auto named_left = [&](std::string_view name) {
    return std::ranges::find(args.named, name, [](const auto& n) { return n.first; });
  };
  if ((node.uses & 1) != 0 && std::ranges::find(node.words, "caller") == node.words.end()) {
    const auto caller = named_left("caller");
    set_name("caller",
             caller != args.named.end() ? caller->second : heap.undefined("no call block here"));
    if (caller != args.named.end()) ++args.named_taken, caller->first = {};
  }
  if ((node.uses & 2) != 0) {
    const auto rest = args.rest(node.words.size());
    set_name("varargs", Value::from(heap.list({rest.begin(), rest.end()}, List::Type::tuple)));
  } else if (args.list.size() > node.words.size()) {
    heap.fail("macro '{}' has only {} parameters", macro.name, node.words.size());
  }
  Dict* extra = (node.uses & 4) != 0 ? heap.dict() : nullptr;
  if (!extra && args.all_taken()) return;
  for (const auto& [name, value] : args.named) {
    if (name.empty()) continue;
    if (!extra) heap.fail("macro '{}' has no parameter named '{}'", macro.name, name);
    extra->set(heap, heap.text(name), value);
  }
  if (extra) set_name("kwargs", Value::from(extra));
}

Value Renderer::call_macro(const Callable& macro, Args& args) {
  const Deeper deeper(*this);
  const std::size_t at = heap.at;
  Scope* const before = scope_;
  scope_ = heap.scope(macro.closure);
  bind(macro, args);
  const Value text = captured(*macro.macro->kids[0]);
  heap.release_scope(std::exchange(scope_, before));
  heap.at = at;
  return text;
}

void Renderer::emit(const Value& v) {
  const Str* text = to_str(heap, v);
  grow(text->text.size());
  out_->add(*text);
}

// Called before writing bytes. The output of a macro or a block is charged while it grows, because
// unfinished texts may be nested as deeply as calls.
void Renderer::grow(std::size_t bytes) {
  if (out_->text.size() + bytes > heap.limits().output)
    heap.exceed("the output is longer than {} bytes", heap.limits().output);
  heap.work(bytes);
  heap.charge(bytes);
}

void Renderer::assign(const Node& target, const Value& v) {
  if (target.kind == NodeKind::name) return set_name(target.text, v);
  heap.at = target.at;
  if (target.kind == NodeKind::attribute) {
    const Value object = eval(*target.kids[0]);
    heap.at = target.at;
    if (!object.is(Kind::space)) heap.fail("only attributes of a namespace() can be assigned");
    return object.dict->set(heap, heap.text(target.text), v);
  }
  const std::vector<Value> items = iterate(heap, v);
  const std::size_t n = target.kids.size();
  if (items.size() < n)
    heap.fail("{} names are assigned, but there are only {} values", n, items.size());
  if (items.size() > n) heap.fail("{} names are assigned, but there are more values", n);
  for (std::size_t i = 0; i < n; ++i) assign(*target.kids[i], items[i]);
}

void Renderer::set_name(std::string_view name, const Value& v) {
  auto& names = scope_->names;
  heap.step(1 + names.size() / 16);
  const auto it = std::ranges::find(names, name, [](const auto& n) { return n.first; });
  if (it != names.end()) {
    it->second = v;
    return;
  }
  heap.charge(sizeof names[0]);
  names.emplace_back(name, v);
}

// A macro that begins here uses names of the enclosing scopes, so they must be kept.
void Renderer::keep_scopes() {
  for (Scope* s = scope_; s && !s->captured; s = s->parent) s->captured = true;
}

}  // namespace weft::jinja
