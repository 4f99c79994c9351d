#pragma once
// Parses the tokens of a template to a tree. Expressions are in parser_expressions.cpp, statements
// and shared parts in parser_statements.cpp.

#include <initializer_list>

#include "jinja/ast.h"

namespace weft::jinja {

class Parser {
 public:
  Parser(std::string_view source, Heap& heap)
      : source_(source), heap_(heap), tokens_(lex(source)) {}
  NodePtr run();

 private:
  using Type = Token::Type;

  // Statements.
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
  std::string identifier();

  // Expressions.
  NodePtr expression(bool with_condition = true);  // a tuple if there are commas
  NodePtr tuple(bool with_condition, bool parenthesized, std::string_view end_word = {});
  NodePtr single(bool with_condition = true);
  NodePtr condition();
  NodePtr or_expression();
  NodePtr and_expression();
  NodePtr joined(std::string_view word, NodeKind kind, NodePtr (Parser::*operand)());
  NodePtr not_expression();
  NodePtr comparison();
  NodePtr binary(int level);
  NodePtr unary(bool with_filter = true);
  NodePtr primary();
  NodePtr name();
  NodePtr bracketed();
  std::int64_t integer(const Token& t) const;
  NodePtr postfix(NodePtr node);
  NodePtr filters(NodePtr node);
  NodePtr filter(NodePtr node);
  NodePtr test(NodePtr node);
  NodePtr subscript(NodePtr node);
  NodePtr subscribed();
  void arguments(Node& call);

  const Token& now() const { return tokens_[next_]; }
  bool is_op(std::string_view op) const { return now().type == Type::op && now().text == op; }
  bool is_name(std::string_view name) const {
    return now().type == Type::name && now().text == name;
  }
  bool skip_op(std::string_view op) { return is_op(op) && (++next_, true); }
  bool skip_name(std::string_view name) { return is_name(name) && (++next_, true); }
  void expect_op(std::string_view op);
  void expect(Type type, std::string_view what);
  [[noreturn]] void fail(std::size_t at, std::string message) const;
  [[noreturn]] void unexpected(std::string_view expected) const;
  NodePtr make(NodeKind kind, std::size_t at) const;
  NodePtr make(NodeKind kind, std::size_t at, NodePtr a, NodePtr b = nullptr) const;
  void adopt(Node& parent, NodePtr kid) const;
  void raise(Node& parent, const Node& kid) const;

  struct Nested {
    explicit Nested(Parser& parser);
    ~Nested() { --parser.depth_; }
    Parser& parser;
  };

  std::string_view source_;
  Heap& heap_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  int depth_ = 0;
  std::uint8_t uses_ = 0;  // what the body of the current macro mentions: bits by kUses
  int loops_ = 0;          // number of loops around break and continue
};

}  // namespace weft::jinja
