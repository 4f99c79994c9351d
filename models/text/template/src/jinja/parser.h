#pragma once
// Parses the tokens of a template to a tree. Expressions are in parser_expressions.cpp, statements
// in parser_statements.cpp.

#include <initializer_list>

#include "jinja/token_stream.h"
#include "jinja/tree_builder.h"

namespace weft::jinja {

class ExpressionParser {
 public:
  // Constants go to `heap`.
  ExpressionParser(TokenStream& tokens, Heap& heap) : tokens_(tokens), tree_(tokens), heap_(heap) {}

  NodePtr expression(bool with_condition = true);  // a tuple if there are commas
  NodePtr tuple(bool with_condition, bool parenthesized, std::string_view end_word = {});
  NodePtr condition();
  // One filter with its bar, or the first one of a block without it. `node` is what it is applied
  // to.
  NodePtr filter(NodePtr node);

  // The names in kUses that were mentioned since the last call, as bits.
  std::uint8_t take_uses() { return std::exchange(uses_, std::uint8_t{0}); }
  void add_uses(std::uint8_t uses) { uses_ |= uses; }

 private:
  using Type = Token::Type;

  NodePtr single(bool with_condition = true);
  NodePtr or_expression();
  NodePtr and_expression();
  NodePtr joined(std::string_view word, NodeKind kind, NodePtr (ExpressionParser::*operand)());
  NodePtr not_expression();
  NodePtr comparison();
  NodePtr binary(int level);
  NodePtr unary(bool with_filter = true);
  NodePtr primary();
  NodePtr name();
  NodePtr bracketed();
  NodePtr postfix(NodePtr node);
  NodePtr filters(NodePtr node);
  NodePtr test(NodePtr node);
  NodePtr subscript(NodePtr node);
  NodePtr subscribed();
  void arguments(Node& call);

  TokenStream& tokens_;
  TreeBuilder tree_;
  Heap& heap_;
  std::uint8_t uses_ = 0;
};

class StatementParser {
 public:
  StatementParser(std::string_view source, Heap& heap)
      : tokens_(source), tree_(tokens_), expressions_(tokens_, heap) {}
  NodePtr run();

 private:
  using Type = Token::Type;

  NodePtr body(std::initializer_list<std::string_view> ends, std::string_view opened,
               std::size_t opened_at);
  NodePtr statement();
  NodePtr if_statement(std::size_t at);
  NodePtr for_statement(std::size_t at);
  NodePtr set_statement(std::size_t at);
  NodePtr macro(std::size_t at);
  NodePtr call_block(std::size_t at);
  NodePtr filter_block(std::size_t at);
  NodePtr with(std::size_t at);
  NodePtr scope_block(std::size_t at, const std::string& tag);
  void parameters(Node& node);
  void macro_body(Node& node, std::string_view end, std::string_view tag);
  NodePtr target(bool with_tuple, bool with_namespace);

  TokenStream tokens_;
  TreeBuilder tree_;
  ExpressionParser expressions_;
  int loops_ = 0;  // number of loops around break and continue
};

}  // namespace weft::jinja
