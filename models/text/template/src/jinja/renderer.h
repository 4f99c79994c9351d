#pragma once
// Runs a template's tree. Statements are in renderer.cpp, expressions in evaluate.cpp, operators in
// operators.cpp; filters, tests, methods and functions are tables of natives.

#include <ctime>
#include <optional>
#include <span>

#include "jinja/ast.h"

namespace weft::jinja {

// The arguments of one call. A native function takes those that it knows; others are an error.
struct Args {
  std::vector<Value> list;
  std::vector<std::pair<std::string_view, Value>> named;
  std::size_t taken = 0;  // of the list
  std::size_t named_taken = 0;

  // The argument at this position or with this name; null if it was not given.
  const Value* get(std::size_t place, std::string_view name);
  std::span<const Value> rest(std::size_t from);
  bool all_taken() const { return taken >= list.size() && named_taken >= named.size(); }
};

struct NativeRow {
  std::string_view name;
  Native run;
};
std::span<const NativeRow> filter_rows();
std::span<const NativeRow> number_filter_rows();
std::span<const NativeRow> sequence_filter_rows();
std::span<const NativeRow> test_rows();
std::span<const NativeRow> function_rows();
std::span<const NativeRow> string_methods();
std::span<const NativeRow> string_search_methods();
// The methods of a value: lists, dicts and others.
std::span<const NativeRow> methods_of(const Value& v);
const NativeRow* find_row(std::span<const NativeRow> rows, std::string_view name);
const NativeRow* find_filter(std::string_view name);

class Renderer {
 public:
  Renderer(const Node& root, std::string_view source, const ChatRenderLimits& limits)
      : heap(source, limits), root_(root) {}

  Heap heap;
  std::optional<std::tm> clock;  // of strftime_now; the machine's otherwise

  // Renders the template with these variables.
  TextBuilder run(const Dict& variables);

  Value call(const Value& callee, Args& args);
  Value filter(std::string_view name, const Value& self, Args& args);
  bool test(std::string_view name, const Value& self, Args& args);
  Value attribute(const Value& object, std::string_view name);
  Value item(const Value& object, const Value& key);
  Value binary(std::string_view op, const Value& a, const Value& b);
  bool contains(const Value& all, const Value& one);
  [[noreturn]] void missing(const Value& v) { heap.fail_text(v.text->text); }
  // Values of native arguments. Fail if they are of another kind.
  std::int64_t integer(const Value& v);
  const Str& string(const Value& v);

 private:
  enum class Flow : std::uint8_t { next, break_, continue_ };
  struct Deeper {
    explicit Deeper(Renderer& r);
    ~Deeper() { --renderer.depth_; }
    Renderer& renderer;
  };

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
  Value recurse(Loop& loop, Args& args);
  Value call_macro(const Callable& macro, Args& args);
  void bind(const Callable& macro, Args& args);
  Value captured(const Node& body);
  void emit(const Value& v);
  void grow(std::size_t bytes);
  void assign(const Node& target, const Value& v);
  void set_name(std::string_view name, const Value& v);
  void keep_scopes();

  Value eval(const Node& node);
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
  void eval_arguments(const Node& node, Args& args);
  Value run_native(std::string_view name, Native native, const Value& self, Args& args);
  Value no_attribute(const Value& object, std::string_view name);
  Value no_element(const Value& object, const Value& key);

  const Node& root_;
  Scope* scope_ = nullptr;
  TextBuilder* out_ = nullptr;
  Value block_text_;  // what the filters of a block get
  int depth_ = 0;
};

}  // namespace weft::jinja
