#pragma once
// Evaluates the expressions of a template's tree.

#include "jinja/ast.h"
#include "jinja/runtime.h"
#include "jinja/variables.h"

namespace weft::jinja {

// The statements that an expression runs when it calls something written in the template.
class Bodies {
 public:
  // Returns what the body of the macro writes.
  virtual Value call_macro(const Callable& macro, Args& args) = 0;
  // Returns what the body of a recursive loop writes for other items.
  virtual Value call_loop(Loop& loop, Args& args) = 0;

 protected:
  ~Bodies() = default;
};

class Evaluator {
 public:
  Evaluator(Runtime& runtime, const Variables& variables, Bodies& bodies)
      : runtime_(runtime), heap_(runtime.heap), variables_(variables), bodies_(bodies) {}

  Value eval(const Node& node);
  // The result of a chain of filters without a value of its own, for the text of a block.
  Value eval_filters(const Node& filters, const Value& text);
  // Appends the arguments of a call, a filter or a test.
  void eval_arguments(const Node& node, Args& args);
  Value call(const Value& callee, Args& args);

 private:
  Value eval_name(const Node& node);
  Value eval_list(const Node& node);
  Value eval_dict(const Node& node);
  Value eval_attribute(const Node& node);
  Value eval_binary(const Node& node);
  Value eval_item(const Node& node);
  Value eval_slice(const Value& object, const Node& slice);
  Value eval_call(const Node& node);
  Value eval_filter(const Node& node);
  Value eval_test(const Node& node);
  Value eval_compare(const Node& node);
  Value eval_concat(const Node& node);
  Value eval_condition(const Node& node);
  Value eval_logic(const Node& node);
  Value eval_sign(const Node& node);

  Runtime& runtime_;
  Heap& heap_;
  const Variables& variables_;
  Bodies& bodies_;
  Value block_text_;  // what eval_filters() was given
};

}  // namespace weft::jinja
