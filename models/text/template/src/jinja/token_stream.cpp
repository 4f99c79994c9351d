#include "jinja/token_stream.h"

namespace weft::jinja {

void TokenStream::fail(std::size_t at, std::string message) const {
  const Position p = position(source_, at);
  throw ChatTemplateError(p.line, p.column, std::move(message), ChatTemplateError::Cause::fault);
}

void TokenStream::unexpected(std::string_view expected) const {
  const Token& t = now();
  std::string got;
  switch (t.type) {
    case Type::end:
      got = "the end of the template";
      break;
    case Type::block_end:
    case Type::variable_end:
      got = "the end of the tag";
      break;
    case Type::string:
      got = "a string";
      break;
    default:
      got = fmt::format("'{}'", t.text.substr(0, 40));
  }
  fail(t.at, expected.empty() ? fmt::format("unexpected {}", got)
                              : fmt::format("expected {}, got {}", expected, got));
}

void TokenStream::expect_op(std::string_view op) {
  if (!skip_op(op)) unexpected(fmt::format("'{}'", op));
}

void TokenStream::expect(Type type, std::string_view what) {
  if (now().type != type) unexpected(what);
  ++next_;
}

std::string TokenStream::identifier() {
  if (now().type != Type::name) unexpected("a name");
  return take().text;
}

void TokenStream::enter() {
  if (++depth_ > kMaxNesting) fail(now().at, fmt::format("nested more than {} deep", kMaxNesting));
}

}  // namespace weft::jinja
