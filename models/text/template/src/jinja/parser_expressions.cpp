#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "jinja/parser.h"

namespace weft::jinja {
namespace {

constexpr std::string_view kComparisons[] = {"==", "!=", "<", "<=", ">", ">="};

// From the lowest precedence; all are left-associative.
struct Level {
  std::string_view ops[4];
};
constexpr Level kLevels[] = {{{"+", "-"}}, {{"~"}}, {{"*", "/", "//", "%"}}, {{"**"}}};

// REQUIRES: `t` is an integer.
std::int64_t integer(const TokenStream& tokens, const Token& t) {
  const bool based = t.text.size() > 1 && (t.text[1] | 0x20) > '9';
  const char sort = based ? static_cast<char>(t.text[1] | 0x20) : 'd';
  const int base = sort == 'x' ? 16 : sort == 'o' ? 8 : sort == 'b' ? 2 : 10;
  std::int64_t number = 0;
  const char* end = t.text.data() + t.text.size();
  const auto read = std::from_chars(t.text.data() + (based ? 2 : 0), end, number, base);
  if (read.ec != std::errc() || read.ptr != end)
    tokens.fail(t.at, fmt::format("'{}' does not fit 64 bits", t.text.substr(0, 40)));
  return number;
}

}  // namespace

NodePtr ExpressionParser::expression(bool with_condition) {
  return tuple(with_condition, false);
}

NodePtr ExpressionParser::single(bool with_condition) {
  return with_condition ? condition() : or_expression();
}

NodePtr ExpressionParser::tuple(bool with_condition, bool parenthesized,
                                std::string_view end_word) {
  const std::size_t at = tokens_.now().at;
  NodePtr node = tree_.make(NodeKind::tuple, at);
  bool comma = false, commas = false;
  for (;;) {
    if (!node->kids.empty() && !comma) break;
    const bool ends = tokens_.now().type == Type::block_end ||
                      tokens_.now().type == Type::variable_end || tokens_.is_op(")") ||
                      (!end_word.empty() && tokens_.is_name(end_word));
    if (ends) break;
    tree_.adopt(*node, single(with_condition));
    comma = tokens_.skip_op(",");
    commas = commas || comma;
  }
  if (!commas) {
    if (!node->kids.empty()) return std::move(node->kids[0]);
    if (!parenthesized) tokens_.unexpected("an expression");
  }
  return node;
}

NodePtr ExpressionParser::condition() {
  const Nested nested(tokens_);
  NodePtr value = or_expression();
  while (tokens_.is_name("if")) {
    const std::size_t at = tokens_.now().at;
    tokens_.take();
    NodePtr node = tree_.make(NodeKind::condition, at, or_expression(), std::move(value));
    tree_.adopt(*node, tokens_.skip_name("else") ? condition() : nullptr);
    value = std::move(node);
  }
  return value;
}

NodePtr ExpressionParser::or_expression() {
  return joined("or", NodeKind::or_, &ExpressionParser::and_expression);
}

NodePtr ExpressionParser::and_expression() {
  return joined("and", NodeKind::and_, &ExpressionParser::not_expression);
}

// Operands separated by a word; a single one is returned unchanged.
NodePtr ExpressionParser::joined(std::string_view word, NodeKind kind,
                                 NodePtr (ExpressionParser::*operand)()) {
  NodePtr first = (this->*operand)();
  if (!tokens_.is_name(word)) return first;
  const std::size_t at = first->at;
  NodePtr node = tree_.make(kind, at, std::move(first));
  while (tokens_.skip_name(word)) tree_.adopt(*node, (this->*operand)());
  return node;
}

NodePtr ExpressionParser::not_expression() {
  if (!tokens_.is_name("not")) return comparison();
  const Nested nested(tokens_);
  const std::size_t at = tokens_.now().at;
  tokens_.take();
  return tree_.make(NodeKind::not_, at, not_expression());
}

NodePtr ExpressionParser::comparison() {
  NodePtr first = binary(0);
  NodePtr node;
  for (;;) {
    std::string op;
    const std::size_t at = tokens_.now().at;
    if (tokens_.now().type == Type::op &&
        std::ranges::count(kComparisons, tokens_.now().text) > 0) {
      op = tokens_.now().text;
    } else if (tokens_.is_name("in")) {
      op = "in";
    } else if (tokens_.is_name("not") && tokens_.ahead().type == Type::name &&
               tokens_.ahead().text == "in") {
      op = "not in";
      tokens_.take();
    } else {
      return node ? std::move(node) : std::move(first);
    }
    tokens_.take();
    if (!node) node = tree_.make(NodeKind::compare, at, std::move(first));
    node->words.push_back(op);
    tree_.adopt(*node, binary(0));
  }
}

NodePtr ExpressionParser::binary(int level) {
  if (level == static_cast<int>(std::size(kLevels))) return unary();
  NodePtr left = binary(level + 1);
  for (;;) {
    const Token& t = tokens_.now();
    const auto& ops = kLevels[level].ops;
    if (t.type != Type::op || t.text.empty() || std::ranges::count(ops, t.text) == 0) return left;
    tokens_.take();
    if (t.text == "~") {
      if (left->kind != NodeKind::concat || left->flag)
        left = tree_.make(NodeKind::concat, t.at, std::move(left));
      tree_.adopt(*left, binary(level + 1));
      continue;
    }
    NodePtr node = tree_.make(NodeKind::binary, t.at, std::move(left), binary(level + 1));
    node->text = t.text;
    left = std::move(node);
  }
}

NodePtr ExpressionParser::unary(bool with_filter) {
  const Nested nested(tokens_);
  const std::size_t at = tokens_.now().at;
  NodePtr node;
  if (tokens_.skip_op("-")) {
    node = tree_.make(NodeKind::negative, at, unary(false));
  } else if (tokens_.skip_op("+")) {
    node = tree_.make(NodeKind::positive, at, unary(false));
  } else {
    node = primary();
  }
  node = postfix(std::move(node));
  return with_filter ? filters(std::move(node)) : std::move(node);
}

NodePtr ExpressionParser::primary() {
  const Token& t = tokens_.now();
  NodePtr node = tree_.make(NodeKind::constant, t.at);
  switch (t.type) {
    case Type::name:
      return name();
    case Type::string: {
      std::string text;
      while (tokens_.now().type == Type::string) text += tokens_.take().text;
      node->value = heap_.text(text);
      return node;
    }
    case Type::integer:
      node->value = Value::from(integer(tokens_, t));
      tokens_.take();
      return node;
    case Type::real:
      node->value = Value::from(read_real(t.text).value_or(0));
      tokens_.take();
      return node;
    default:
      return bracketed();
  }
}

// A variable, or a constant that has a name.
NodePtr ExpressionParser::name() {
  const Token& t = tokens_.take();
  NodePtr node = tree_.make(NodeKind::constant, t.at);
  if (t.text == "true" || t.text == "True" || t.text == "false" || t.text == "False") {
    node->value = Value::from((t.text[0] | 0x20) == 't');
  } else if (t.text == "none" || t.text == "None") {
    node->value = Value::none();
  } else {
    node->kind = NodeKind::name;
    node->text = t.text;
    for (std::size_t i = 0; i < std::size(kUses); ++i)
      if (t.text == kUses[i]) uses_ |= static_cast<std::uint8_t>(1u << i);
  }
  return node;
}

// An expression in parentheses, a tuple, a list or a dict.
NodePtr ExpressionParser::bracketed() {
  const std::size_t at = tokens_.now().at;
  if (tokens_.skip_op("(")) {
    NodePtr inner = tuple(true, true);
    tokens_.expect_op(")");
    // A concatenation in parentheses stays one operand.
    if (inner->kind == NodeKind::concat) inner->flag = true;
    return inner;
  }
  if (tokens_.skip_op("[")) {
    NodePtr list = tree_.make(NodeKind::list, at);
    while (!tokens_.skip_op("]")) {
      if (!list->kids.empty()) tokens_.expect_op(",");
      if (tokens_.skip_op("]")) break;
      tree_.adopt(*list, condition());
    }
    return list;
  }
  if (tokens_.skip_op("{")) {
    NodePtr dict = tree_.make(NodeKind::dict, at);
    while (!tokens_.skip_op("}")) {
      if (!dict->kids.empty()) tokens_.expect_op(",");
      if (tokens_.skip_op("}")) break;
      tree_.adopt(*dict, condition());
      tokens_.expect_op(":");
      tree_.adopt(*dict, condition());
    }
    return dict;
  }
  tokens_.unexpected("an expression");
}

NodePtr ExpressionParser::postfix(NodePtr node) {
  for (;;) {
    if (tokens_.is_op(".") || tokens_.is_op("[")) {
      node = subscript(std::move(node));
    } else if (tokens_.is_op("(")) {
      NodePtr call = tree_.make(NodeKind::call, tokens_.now().at, std::move(node));
      arguments(*call);
      node = std::move(call);
    } else {
      return node;
    }
  }
}

NodePtr ExpressionParser::filters(NodePtr node) {
  for (;;) {
    if (tokens_.is_op("|")) {
      node = filter(std::move(node));
    } else if (tokens_.is_name("is")) {
      node = test(std::move(node));
    } else if (tokens_.is_op("(")) {
      NodePtr call = tree_.make(NodeKind::call, tokens_.now().at, std::move(node));
      arguments(*call);
      node = std::move(call);
    } else {
      return node;
    }
  }
}

NodePtr ExpressionParser::filter(NodePtr node) {
  tokens_.skip_op("|");
  NodePtr filter = tree_.make(NodeKind::filter, tokens_.now().at);
  tree_.adopt(*filter, std::move(node));
  filter->text = tokens_.identifier();
  while (tokens_.skip_op(".")) (filter->text += '.') += tokens_.identifier();
  if (tokens_.is_op("(")) arguments(*filter);
  return filter;
}

NodePtr ExpressionParser::test(NodePtr node) {
  const std::size_t at = tokens_.now().at;
  tokens_.take();
  const bool negated = tokens_.skip_name("not");
  NodePtr test = tree_.make(NodeKind::test, tokens_.now().at, std::move(node));
  test->text = tokens_.identifier();
  while (tokens_.skip_op(".")) (test->text += '.') += tokens_.identifier();
  const Type type = tokens_.now().type;
  if (tokens_.is_op("(")) {
    arguments(*test);
  } else if (tokens_.is_op("[") || tokens_.is_op("{") || type == Type::string ||
             type == Type::integer || type == Type::real ||
             (type == Type::name && !tokens_.is_name("else") && !tokens_.is_name("or") &&
              !tokens_.is_name("and"))) {
    if (tokens_.is_name("is")) tokens_.fail(tokens_.now().at, "tests cannot be chained with 'is'");
    if (!tokens_.is_name("if")) tree_.adopt(*test, postfix(primary()));
  }
  return negated ? tree_.make(NodeKind::not_, at, std::move(test)) : std::move(test);
}

NodePtr ExpressionParser::subscript(NodePtr node) {
  const std::size_t at = tokens_.now().at;
  if (tokens_.skip_op(".")) {
    const Token& t = tokens_.now();
    if (t.type == Type::integer) {
      tokens_.take();
      NodePtr index = tree_.make(NodeKind::constant, t.at);
      index->value = Value::from(std::int64_t{std::strtoll(t.text.c_str(), nullptr, 10)});
      return tree_.make(NodeKind::item, at, std::move(node), std::move(index));
    }
    if (t.type != Type::name) tokens_.unexpected("a name or a number");
    tokens_.take();
    NodePtr attribute = tree_.make(NodeKind::attribute, at, std::move(node));
    attribute->text = t.text;
    return attribute;
  }
  tokens_.expect_op("[");
  NodePtr first = subscribed();
  if (tokens_.is_op(",")) {
    NodePtr tuple = tree_.make(NodeKind::tuple, at, std::move(first));
    while (tokens_.skip_op(",")) tree_.adopt(*tuple, subscribed());
    first = std::move(tuple);
  }
  tokens_.expect_op("]");
  return tree_.make(NodeKind::item, at, std::move(node), std::move(first));
}

NodePtr ExpressionParser::subscribed() {
  const Nested nested(tokens_);
  const std::size_t at = tokens_.now().at;
  NodePtr begin;
  if (!tokens_.is_op(":")) begin = condition();
  if (!tokens_.is_op(":")) return begin;
  NodePtr slice = tree_.make(NodeKind::slice, at);
  tree_.adopt(*slice, std::move(begin));
  for (int i = 0; i < 2; ++i) {
    const bool given =
        tokens_.skip_op(":") && !tokens_.is_op(":") && !tokens_.is_op("]") && !tokens_.is_op(",");
    tree_.adopt(*slice, given ? condition() : nullptr);
  }
  return slice;
}

void ExpressionParser::arguments(Node& call) {
  const Nested nested(tokens_);
  tokens_.expect_op("(");
  for (bool first = true; !tokens_.skip_op(")"); first = false) {
    if (!first) tokens_.expect_op(",");
    if (tokens_.skip_op(")")) return;
    const std::size_t at = tokens_.now().at;
    if (tokens_.skip_op("**")) {
      if (call.all_named) tokens_.fail(at, "** was given already");
      call.all_named = condition();
      tree_.raise(call, *call.all_named);
    } else if (tokens_.skip_op("*")) {
      if (call.all_args || call.all_named) tokens_.fail(at, "* was given already");
      call.all_args = condition();
      tree_.raise(call, *call.all_args);
    } else if (tokens_.now().type == Type::name && tokens_.ahead().type == Type::op &&
               tokens_.ahead().text == "=") {
      if (call.all_named) tokens_.fail(at, "an argument after **");
      std::string name = tokens_.take().text;
      tokens_.take();
      NodePtr value = condition();
      tree_.raise(call, *value);
      call.named.emplace_back(std::move(name), std::move(value));
    } else {
      if (!call.named.empty() || call.all_args || call.all_named)
        tokens_.fail(at, "a positional argument after others");
      tree_.adopt(call, condition());
    }
  }
}

}  // namespace weft::jinja
