#include "jinja/renderer.h"

#include <algorithm>

#include "jinja/evaluate.h"
#include "jinja/natives.h"

namespace weft::jinja {
namespace {

enum class Flow : std::uint8_t { next, break_, continue_ };

// Runs statements. What they write goes to `out_`.
class Renderer final : private Bodies {
 public:
  explicit Renderer(Runtime& runtime)
      : runtime_(runtime),
        heap_(runtime.heap),
        variables_(runtime.heap),
        expressions_(runtime, variables_, *this) {}

  TextBuilder run(const Node& root, const Dict& variables);

 private:
  Flow run(const Node& node);
  Flow run_body(const Node& body);
  Flow run_if(const Node& node);
  void run_for(const Node& node);
  void run_set(const Node& node);
  void run_call(const Node& node);
  void run_filter(const Node& node);
  Flow run_with(const Node& node);
  void run_scope(const Node& body);
  bool loop(const Node& node, std::vector<Value> items, std::int64_t depth0);
  std::vector<Value> filtered(const Node& node, std::vector<Value> items);
  Value macro_value(const Node& node);
  Value call_loop(Loop& loop, Args& args) override;
  Value call_macro(const Callable& macro, Args& args) override;
  void bind(const Callable& macro, Args& args);
  void bind_special(const Callable& macro, Args& args);
  Value captured(const Node& body);
  void emit(const Value& v);
  void grow(std::size_t bytes);
  void assign(const Node& target, const Value& v);

  Runtime& runtime_;
  Heap& heap_;
  Variables variables_;
  Evaluator expressions_;
  TextBuilder* out_ = nullptr;
};

TextBuilder Renderer::run(const Node& root, const Dict& variables) {
  TextBuilder out;
  out_ = &out;
  variables_.open();
  for (const NativeRow& row : function_rows())
    variables_.set(row.name,
                   Value::from(heap_.callable(
                       {.name = row.name, .native = row.run, .cost = row.cost, .self = {}})));
  variables_.open();
  for (const auto& [name, value] : variables.items) variables_.set(name.text->text, value);
  variables_.open();
  run_body(root);
  return out;
}

Flow Renderer::run_body(const Node& body) {
  for (const NodePtr& kid : body.kids) {
    if (const Flow flow = run(*kid); flow != Flow::next) return flow;
  }
  return Flow::next;
}

Flow Renderer::run(const Node& node) {
  const Deeper deeper(runtime_);
  heap_.at = node.at;
  switch (node.kind) {
    case NodeKind::data:
      grow(node.text.size());
      out_->add(node.text);
      break;
    case NodeKind::output:
      emit(expressions_.eval(*node.kids[0]));
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
      variables_.set(node.text, macro_value(node));
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
      heap_.fail("not a statement");
  }
  return Flow::next;
}

Flow Renderer::run_if(const Node& node) {
  for (std::size_t i = 0; i + 1 < node.kids.size(); i += 2) {
    if (truth(expressions_.eval(*node.kids[i]))) return run_body(*node.kids[i + 1]);
  }
  return node.kids.size() % 2 == 1 ? run_body(*node.kids.back()) : Flow::next;
}

void Renderer::run_scope(const Node& body) {
  variables_.open();
  run_body(body);
  variables_.close();
}

void Renderer::run_for(const Node& node) {
  const Value all = expressions_.eval(*node.kids[1]);
  heap_.at = node.kids[1]->at;
  if (node.flag) variables_.keep();
  if (!loop(node, iterate(heap_, all), 0) && node.kids[4]) run_scope(*node.kids[4]);
}

std::vector<Value> Renderer::filtered(const Node& node, std::vector<Value> items) {
  if (!node.kids[2]) return items;
  variables_.open();
  std::vector<Value> chosen;
  for (const Value& item : items) {
    assign(*node.kids[0], item);
    if (truth(expressions_.eval(*node.kids[2]))) chosen.push_back(item);
  }
  variables_.close();
  return chosen;
}

// Returns false if there was nothing to iterate over.
bool Renderer::loop(const Node& node, std::vector<Value> items, std::int64_t depth0) {
  Loop* const loop = heap_.loop({.items = filtered(node, std::move(items)),
                                 .node = node.flag ? &node : nullptr,
                                 .scope = variables_.current(),
                                 .depth0 = depth0,
                                 .last = {}});
  Flow flow = Flow::next;
  for (; loop->at < loop->items.size() && flow != Flow::break_; ++loop->at) {
    variables_.open();
    variables_.set("loop", Value::from(loop));
    heap_.at = node.at;
    assign(*node.kids[0], loop->items[loop->at]);
    flow = run(*node.kids[3]);
    variables_.close();
  }
  return !loop->items.empty();
}

Value Renderer::call_loop(Loop& outer, Args& args) {
  const Value* items = args.get(0, "iterable");
  if (!outer.node) heap_.fail("only a loop marked 'recursive' can be called");
  if (!items || !args.all_taken()) heap_.fail("loop() takes one argument");
  TextBuilder out;
  TextBuilder* const out_before = std::exchange(out_, &out);
  Scope* const scope_before = variables_.switch_to(outer.scope);
  const std::size_t at = heap_.at;
  if (!loop(*outer.node, iterate(heap_, *items), outer.depth0 + 1) && outer.node->kids[4])
    run_scope(*outer.node->kids[4]);
  heap_.at = at;
  variables_.switch_to(scope_before);
  out_ = out_before;
  return Value::from(heap_.str(std::move(out)));
}

Value Renderer::captured(const Node& body) {
  TextBuilder out;
  TextBuilder* const before = std::exchange(out_, &out);
  run_body(body);
  out_ = before;
  return Value::from(heap_.str(std::move(out)));
}

void Renderer::run_set(const Node& node) {
  if (node.kind == NodeKind::set) {
    const Value v = expressions_.eval(*node.kids[1]);
    return assign(*node.kids[0], v);
  }
  variables_.open();
  Value text = captured(*node.kids[2]);
  variables_.close();
  if (node.kids[1]) text = expressions_.eval_filters(*node.kids[1], text);
  assign(*node.kids[0], text);
}

void Renderer::run_filter(const Node& node) {
  variables_.open();
  const Value text = captured(*node.kids[1]);
  emit(expressions_.eval_filters(*node.kids[0], text));
  variables_.close();
}

Flow Renderer::run_with(const Node& node) {
  std::vector<Value> values;
  for (std::size_t i = 2; i < node.kids.size(); i += 2)
    values.push_back(expressions_.eval(*node.kids[i]));
  variables_.open();
  for (std::size_t i = 0; i < values.size(); ++i) assign(*node.kids[1 + 2 * i], values[i]);
  const Flow flow = run_body(*node.kids[0]);
  variables_.close();
  return flow;
}

void Renderer::run_call(const Node& node) {
  const Node& call_node = *node.kids.back();
  const Value caller = macro_value(node);
  const Value callee = expressions_.eval(*call_node.kids[0]);
  Args args;
  expressions_.eval_arguments(call_node, args);
  args.named.emplace_back("caller", caller);
  heap_.at = call_node.at;
  emit(expressions_.call(callee, args));
}

// A macro, or the body of a call block, as a value.
Value Renderer::macro_value(const Node& node) {
  return Value::from(heap_.callable(
      {.name = node.text, .self = {}, .macro = &node, .closure = variables_.keep()}));
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
    heap_.step(1 + args.named.size() / 16);
    if (const Value* given = args.get(i, name))
      variables_.set(name, *given);
    else if (i >= first_default)
      variables_.set(name, expressions_.eval(*node.kids[1 + i - first_default]));
    else
      variables_.set(name, heap_.undefined(fmt::format("parameter '{}' was not provided", name)));
  }
  bind_special(macro, args);
}

// Assigns caller, varargs and kwargs if the macro mentions them. Otherwise their arguments fail.
void Renderer::bind_special(const Callable& macro, Args& args) {
  const Node& node = *macro.macro;
  const auto named_left = [&](std::string_view name) {
    return std::ranges::find(args.named, name, [](const auto& n) { return n.first; });
  };
  if ((node.uses & 1) != 0 && std::ranges::find(node.words, "caller") == node.words.end()) {
    const auto caller = named_left("caller");
    variables_.set("caller", caller != args.named.end() ? caller->second
                                                        : heap_.undefined("no call block here"));
    if (caller != args.named.end()) ++args.named_taken, caller->first = {};
  }
  if ((node.uses & 2) != 0) {
    const auto rest = args.rest(node.words.size());
    variables_.set("varargs",
                   Value::from(heap_.list({rest.begin(), rest.end()}, List::Type::tuple)));
  } else if (args.list.size() > node.words.size()) {
    heap_.fail("macro '{}' has only {} parameters", macro.name, node.words.size());
  }
  Dict* extra = (node.uses & 4) != 0 ? heap_.dict() : nullptr;
  if (!extra && args.all_taken()) return;
  for (const auto& [name, value] : args.named) {
    if (name.empty()) continue;
    if (!extra) heap_.fail("macro '{}' has no parameter named '{}'", macro.name, name);
    extra->set(heap_, heap_.text(name), value);
  }
  if (extra) variables_.set("kwargs", Value::from(extra));
}

Value Renderer::call_macro(const Callable& macro, Args& args) {
  const Deeper deeper(runtime_);
  const std::size_t at = heap_.at;
  Scope* const before = variables_.switch_to(macro.closure);
  variables_.open();
  bind(macro, args);
  const Value text = captured(*macro.macro->kids[0]);
  variables_.close();
  variables_.switch_to(before);
  heap_.at = at;
  return text;
}

void Renderer::emit(const Value& v) {
  const Str* text = to_str(heap_, v);
  grow(text->text.size());
  out_->add(*text);
}

// Called before writing bytes. The output of a macro or a block is charged while it grows, because
// unfinished texts may be nested as deeply as calls.
void Renderer::grow(std::size_t bytes) {
  if (out_->text.size() + bytes > heap_.limits().output)
    heap_.exceed("the output is longer than {} bytes", heap_.limits().output);
  heap_.scan(bytes);
  heap_.charge(bytes);
}

void Renderer::assign(const Node& target, const Value& v) {
  if (target.kind == NodeKind::name) return variables_.set(target.text, v);
  heap_.at = target.at;
  if (target.kind == NodeKind::attribute) {
    const Value object = expressions_.eval(*target.kids[0]);
    heap_.at = target.at;
    if (!object.is(Kind::space)) heap_.fail("only attributes of a namespace() can be assigned");
    return object.dict->set(heap_, heap_.text(target.text), v);
  }
  const std::vector<Value> items = iterate(heap_, v);
  const std::size_t n = target.kids.size();
  if (items.size() < n)
    heap_.fail("{} names are assigned, but there are only {} values", n, items.size());
  if (items.size() > n) heap_.fail("{} names are assigned, but there are more values", n);
  for (std::size_t i = 0; i < n; ++i) assign(*target.kids[i], items[i]);
}

}  // namespace

TextBuilder render(const Node& root, Runtime& runtime, const Dict& variables) {
  return Renderer(runtime).run(root, variables);
}

}  // namespace weft::jinja
