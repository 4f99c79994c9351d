#pragma once
// The tokens of a template, of which a parser takes one after another.

#include "jinja/ast.h"

namespace weft::jinja {

class TokenStream {
 public:
  using Type = Token::Type;

  // REQUIRES: `source` is normalized, and outlives this. Throws ChatTemplateError.
  explicit TokenStream(std::string_view source) : source_(source), tokens_(lex(source)) {}

  const Token& now() const { return tokens_[next_]; }
  // The token after now(). REQUIRES: now() is not the end.
  const Token& ahead() const { return tokens_[next_ + 1]; }
  bool is_op(std::string_view op) const { return now().type == Type::op && now().text == op; }
  bool is_name(std::string_view name) const {
    return now().type == Type::name && now().text == name;
  }

  // Returns now() and goes on to the next token.
  const Token& take() { return tokens_[next_++]; }
  // Take the token if it is this one, and return whether it was.
  bool skip_op(std::string_view op) { return is_op(op) && (++next_, true); }
  bool skip_name(std::string_view name) { return is_name(name) && (++next_, true); }
  // Take a token that must come here. `what` names it in the error.
  void expect_op(std::string_view op);
  void expect(Type type, std::string_view what);
  std::string identifier();

  // Throw ChatTemplateError, about a place in the source or about now().
  [[noreturn]] void fail(std::size_t at, std::string message) const;
  [[noreturn]] void unexpected(std::string_view expected) const;

  // A block or a parenthesis begins and ends. Fails if too many are open.
  void enter();
  void leave() { --depth_; }

 private:
  std::string_view source_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  int depth_ = 0;
};

// A block or a parenthesis is open while this exists.
class Nested {
 public:
  explicit Nested(TokenStream& tokens) : tokens_(tokens) { tokens.enter(); }
  ~Nested() { tokens_.leave(); }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  TokenStream& tokens_;
};

}  // namespace weft::jinja
