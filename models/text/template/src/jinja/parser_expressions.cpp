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

}  // namespace

NodePtr Parser::expression(bool with_condition) {
  return tuple(with_condition, false);
}

NodePtr Parser::single(bool with_condition) {
  return with_condition ? condition() : or_expression();
}

NodePtr Parser::tuple(bool with_condition, bool parenthesized, std::string_view end_word) {
  const std::size_t at = now().at;
  NodePtr node = make(NodeKind::tuple, at);
  bool comma = false, commas = false;
  for (;;) {
    if (!node->kids.empty() && !comma) break;
    const bool ends = now().type == Type::block_end || now().type == Type::variable_end ||
                      is_op(")") || (!end_word.empty() && is_name(end_word));
    if (ends) break;
    adopt(*node, single(with_condition));
    comma = skip_op(",");
    commas = commas || comma;
  }
  if (!commas) {
    if (!node->kids.empty()) return std::move(node->kids[0]);
    if (!parenthesized) unexpected("an expression");
  }
  return node;
}

NodePtr Parser::condition() {
  const Nested nested(*this);
  NodePtr value = or_expression();
  while (is_name("if")) {
    const std::size_t at = now().at;
    ++next_;
    NodePtr node = make(NodeKind::condition, at, or_expression(), std::move(value));
    adopt(*node, skip_name("else") ? condition() : nullptr);
    value = std::move(node);
  }
  return value;
}

NodePtr Parser::or_expression() {
  return joined("or", NodeKind::or_, &Parser::and_expression);
}

NodePtr Parser::and_expression() {
  return joined("and", NodeKind::and_, &Parser::not_expression);
}

// Operands separated by a word; a single one is returned unchanged.
NodePtr Parser::joined(std::string_view word, NodeKind kind, NodePtr (Parser::*operand)()) {
  NodePtr first = (this->*operand)();
  if (!is_name(word)) return first;
  const std::size_t at = first->at;
  NodePtr node = make(kind, at, std::move(first));
  while (skip_name(word)) adopt(*node, (this->*operand)());
  return node;
}

NodePtr Parser::not_expression() {
  if (!is_name("not")) return comparison();
  const Nested nested(*this);
  const std::size_t at = now().at;
  ++next_;
  return make(NodeKind::not_, at, not_expression());
}

NodePtr Parser::comparison() {
  NodePtr first = binary(0);
  NodePtr node;
  for (;;) {
    std::string op;
    const std::size_t at = now().at;
    if (now().type == Type::op && std::ranges::count(kComparisons, now().text) > 0) {
      op = now().text;
    } else if (is_name("in")) {
      op = "in";
    } else if (is_name("not") && tokens_[next_ + 1].type == Type::name &&
               tokens_[next_ + 1].text == "in") {
      op = "not in";
      ++next_;
    } else {
      return node ? std::move(node) : std::move(first);
    }
    ++next_;
    if (!node) node = make(NodeKind::compare, at, std::move(first));
    node->words.push_back(op);
    adopt(*node, binary(0));
  }
}

NodePtr Parser::binary(int level) {
  if (level == static_cast<int>(std::size(kLevels))) return unary();
  NodePtr left = binary(level + 1);
  for (;;) {
    const Token& t = now();
    const auto& ops = kLevels[level].ops;
    if (t.type != Type::op || t.text.empty() || std::ranges::count(ops, t.text) == 0) return left;
    ++next_;
    if (t.text == "~") {
      if (left->kind != NodeKind::concat || left->flag)
        left = make(NodeKind::concat, t.at, std::move(left));
      adopt(*left, binary(level + 1));
      continue;
    }
    NodePtr node = make(NodeKind::binary, t.at, std::move(left), binary(level + 1));
    node->text = t.text;
    left = std::move(node);
  }
}

NodePtr Parser::unary(bool with_filter) {
  const Nested nested(*this);
  const std::size_t at = now().at;
  NodePtr node;
  if (skip_op("-")) {
    node = make(NodeKind::negative, at, unary(false));
  } else if (skip_op("+")) {
    node = make(NodeKind::positive, at, unary(false));
  } else {
    node = primary();
  }
  node = postfix(std::move(node));
  return with_filter ? filters(std::move(node)) : std::move(node);
}

// REQUIRES: a token that is an integer.
std::int64_t Parser::integer(const Token& t) const {
  const bool based = t.text.size() > 1 && (t.text[1] | 0x20) > '9';
  const char sort = based ? static_cast<char>(t.text[1] | 0x20) : 'd';
  const int base = sort == 'x' ? 16 : sort == 'o' ? 8 : sort == 'b' ? 2 : 10;
  std::int64_t number = 0;
  const char* end = t.text.data() + t.text.size();
  const auto read = std::from_chars(t.text.data() + (based ? 2 : 0), end, number, base);
  if (read.ec != std::errc() || read.ptr != end)
    fail(t.at, fmt::format("'{}' does not fit 64 bits", t.text.substr(0, 40)));
  return number;
}

NodePtr Parser::primary() {
  const Token& t = now();
  NodePtr node = make(NodeKind::constant, t.at);
  switch (t.type) {
    case Type::name:
      return name();
    case Type::string: {
      std::string text;
      while (now().type == Type::string) text += tokens_[next_++].text;
      node->value = heap_.text(text);
      return node;
    }
    case Type::integer:
      node->value = Value::from(integer(t));
      ++next_;
      return node;
    case Type::real:
      node->value = Value::from(read_real(t.text).value_or(0));
      ++next_;
      return node;
    default:
      return bracketed();
  }
}

// A variable, or a constant that has a name.
NodePtr Parser::name() {
  const Token& t = tokens_[next_++];
  NodePtr node = make(NodeKind::constant, t.at);
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
NodePtr Parser::bracketed() {
  const std::size_t at = now().at;
  if (skip_op("(")) {
    NodePtr inner = tuple(true, true);
    expect_op(")");
    // A concatenation in parentheses stays one operand.
    if (inner->kind == NodeKind::concat) inner->flag = true;
    return inner;
  }
  if (skip_op("[")) {
    NodePtr list = make(NodeKind::list, at);
    while (!skip_op("]")) {
      if (!list->kids.empty()) expect_op(",");
      if (skip_op("]")) break;
      adopt(*list, condition());
    }
    return list;
  }
  if (skip_op("{")) {
    NodePtr dict = make(NodeKind::dict, at);
    while (!skip_op("}")) {
      if (!dict->kids.empty()) expect_op(",");
      if (skip_op("}")) break;
      adopt(*dict, condition());
      expect_op(":");
      adopt(*dict, condition());
    }
    return dict;
  }
  unexpected("an expression");
}

NodePtr Parser::postfix(NodePtr node) {
  for (;;) {
    if (is_op(".") || is_op("[")) {
      node = subscript(std::move(node));
    } else if (is_op("(")) {
      NodePtr call = make(NodeKind::call, now().at, std::move(node));
      arguments(*call);
      node = std::move(call);
    } else {
      return node;
    }
  }
}

NodePtr Parser::filters(NodePtr node) {
  for (;;) {
    if (is_op("|")) {
      node = filter(std::move(node));
    } else if (is_name("is")) {
      node = test(std::move(node));
    } else if (is_op("(")) {
      NodePtr call = make(NodeKind::call, now().at, std::move(node));
      arguments(*call);
      node = std::move(call);
    } else {
      return node;
    }
  }
}

// One filter with its bar, or the first one of a block without it.
NodePtr Parser::filter(NodePtr node) {
  skip_op("|");
  NodePtr filter = make(NodeKind::filter, now().at);
  adopt(*filter, std::move(node));
  filter->text = identifier();
  while (skip_op(".")) (filter->text += '.') += identifier();
  if (is_op("(")) arguments(*filter);
  return filter;
}

NodePtr Parser::test(NodePtr node) {
  const std::size_t at = now().at;
  ++next_;
  const bool negated = skip_name("not");
  NodePtr test = make(NodeKind::test, now().at, std::move(node));
  test->text = identifier();
  while (skip_op(".")) (test->text += '.') += identifier();
  const Type type = now().type;
  if (is_op("(")) {
    arguments(*test);
  } else if (is_op("[") || is_op("{") || type == Type::string || type == Type::integer ||
             type == Type::real ||
             (type == Type::name && !is_name("else") && !is_name("or") && !is_name("and"))) {
    if (is_name("is")) fail(now().at, "tests cannot be chained with 'is'");
    if (!is_name("if")) adopt(*test, postfix(primary()));
  }
  return negated ? make(NodeKind::not_, at, std::move(test)) : std::move(test);
}

NodePtr Parser::subscript(NodePtr node) {
  const std::size_t at = now().at;
  if (skip_op(".")) {
    const Token& t = now();
    ++next_;
    if (t.type == Type::integer) {
      NodePtr index = make(NodeKind::constant, t.at);
      index->value = Value::from(std::int64_t{std::strtoll(t.text.c_str(), nullptr, 10)});
      return make(NodeKind::item, at, std::move(node), std::move(index));
    }
    --next_;
    if (t.type != Type::name) unexpected("a name or a number");
    ++next_;
    NodePtr attribute = make(NodeKind::attribute, at, std::move(node));
    attribute->text = t.text;
    return attribute;
  }
  expect_op("[");
  NodePtr first = subscribed();
  if (is_op(",")) {
    NodePtr tuple = make(NodeKind::tuple, at, std::move(first));
    while (skip_op(",")) adopt(*tuple, subscribed());
    first = std::move(tuple);
  }
  expect_op("]");
  return make(NodeKind::item, at, std::move(node), std::move(first));
}

NodePtr Parser::subscribed() {
  const Nested nested(*this);
  const std::size_t at = now().at;
  NodePtr begin;
  if (!is_op(":")) begin = condition();
  if (!is_op(":")) return begin;
  NodePtr slice = make(NodeKind::slice, at);
  adopt(*slice, std::move(begin));
  for (int i = 0; i < 2; ++i) {
    const bool given = skip_op(":") && !is_op(":") && !is_op("]") && !is_op(",");
    adopt(*slice, given ? condition() : nullptr);
  }
  return slice;
}

void Parser::arguments(Node& call) {
  const Nested nested(*this);
  expect_op("(");
  for (bool first = true; !skip_op(")"); first = false) {
    if (!first) expect_op(",");
    if (skip_op(")")) return;
    const std::size_t at = now().at;
    if (skip_op("**")) {
      if (call.all_named) fail(at, "** was given already");
      call.all_named = condition();
      raise(call, *call.all_named);
    } else if (skip_op("*")) {
      if (call.all_args || call.all_named) fail(at, "* was given already");
      call.all_args = condition();
      raise(call, *call.all_args);
    } else if (now().type == Type::name && tokens_[next_ + 1].type == Type::op &&
               tokens_[next_ + 1].text == "=") {
      if (call.all_named) fail(at, "an argument after **");
      std::string name = now().text;
      next_ += 2;
      NodePtr value = condition();
      raise(call, *value);
      call.named.emplace_back(std::move(name), std::move(value));
    } else {
      if (!call.named.empty() || call.all_args || call.all_named)
        fail(at, "a positional argument after others");
      adopt(call, condition());
    }
  }
}

}  // namespace weft::jinja
