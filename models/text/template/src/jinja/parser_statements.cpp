#include <algorithm>

#include "jinja/parser.h"

namespace weft::jinja {
namespace {

// Trees are evaluated recursively.
constexpr int kMaxHeight = 300;

}  // namespace

Parser::Nested::Nested(Parser& p) : parser(p) {
  if (++parser.depth_ > kMaxNesting)
    parser.fail(parser.now().at, fmt::format("nested more than {} deep", kMaxNesting));
}

void Parser::fail(std::size_t at, std::string message) const {
  const Position p = position(source_, at);
  throw ChatTemplateError(p.line, p.column, std::move(message), ChatTemplateError::Cause::fault);
}

void Parser::unexpected(std::string_view expected) const {
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

void Parser::expect_op(std::string_view op) {
  if (!skip_op(op)) unexpected(fmt::format("'{}'", op));
}

void Parser::expect(Type type, std::string_view what) {
  if (now().type != type) unexpected(what);
  ++next_;
}

NodePtr Parser::make(NodeKind kind, std::size_t at) const {
  auto node = std::make_unique<Node>();
  node->kind = kind;
  node->at = static_cast<std::uint32_t>(at);
  return node;
}

NodePtr Parser::make(NodeKind kind, std::size_t at, NodePtr a, NodePtr b) const {
  NodePtr node = make(kind, at);
  adopt(*node, std::move(a));
  if (b) adopt(*node, std::move(b));
  return node;
}

void Parser::adopt(Node& parent, NodePtr kid) const {
  if (kid) raise(parent, *kid);
  parent.kids.push_back(std::move(kid));
}

// Makes the parent higher than this kid.
void Parser::raise(Node& parent, const Node& kid) const {
  const int height = kid.height + 1;
  if (height > kMaxHeight) fail(kid.at, fmt::format("nested more than {} deep", kMaxHeight));
  parent.height = std::max(parent.height, static_cast<std::uint16_t>(height));
}

NodePtr parse(std::string_view source, Heap& heap) {
  return Parser(source, heap).run();
}

NodePtr Parser::run() {
  return body({}, "", 0);
}

// Parses up to a tag that is one of `ends`, whose name is then the current token.
NodePtr Parser::body(std::initializer_list<std::string_view> ends, std::string_view opened,
                     std::size_t opened_at) {
  const Nested nested(*this);
  NodePtr body = make(NodeKind::body, now().at);
  for (;;) {
    const Token& t = now();
    switch (t.type) {
      case Type::end:
        if (ends.size() == 0) return body;
        fail(opened_at,
             fmt::format("this '{}' has no end: '{}' is missing", opened, *(ends.end() - 1)));
      case Type::data: {
        NodePtr data = make(NodeKind::data, t.at);
        data->text = t.text;
        ++next_;
        adopt(*body, std::move(data));
        break;
      }
      case Type::variable_begin: {
        ++next_;
        NodePtr output = make(NodeKind::output, t.at, expression());
        expect(Type::variable_end, "'}}'");
        adopt(*body, std::move(output));
        break;
      }
      case Type::block_begin: {
        ++next_;
        if (now().type != Type::name) unexpected("the name of a tag");
        if (std::ranges::find(ends, now().text) != ends.end()) return body;
        NodePtr node = statement();
        expect(Type::block_end, "'%}'");
        adopt(*body, std::move(node));
        break;
      }
      default:
        unexpected("text or a tag");
    }
  }
}

NodePtr Parser::statement() {
  const std::size_t at = now().at;
  const std::string tag = identifier();
  if (tag == "if") return if_statement(at);
  if (tag == "for") return for_statement(at);
  if (tag == "set") return set_statement(at);
  if (tag == "macro") return macro(at);
  if (tag == "call") return call_block(at);
  if (tag == "filter") return filter_block(at);
  if (tag == "with") return with(at);
  if (tag == "block" || tag == "generation" || tag == "autoescape") return scope_block(at, tag);
  if (tag == "break" || tag == "continue") {
    if (loops_ == 0) fail(at, fmt::format("'{}' outside of a loop", tag));
    return make(tag == "break" ? NodeKind::break_ : NodeKind::continue_, at);
  }
  if (tag == "include" || tag == "import" || tag == "from" || tag == "extends")
    fail(at, fmt::format("'{}' needs another template, which is not supported", tag));
  fail(at, fmt::format("unknown tag '{}'", tag.substr(0, 40)));
}

std::string Parser::identifier() {
  if (now().type != Type::name) unexpected("a name");
  return tokens_[next_++].text;
}

NodePtr Parser::if_statement(std::size_t at) {
  NodePtr node = make(NodeKind::if_, at);
  for (;;) {
    adopt(*node, expression(false));
    expect(Type::block_end, "'%}'");
    adopt(*node, body({"elif", "else", "endif"}, "if", at));
    if (skip_name("elif")) continue;
    if (skip_name("else")) {
      expect(Type::block_end, "'%}'");
      adopt(*node, body({"endif"}, "else", at));
    }
    ++next_;
    return node;
  }
}

NodePtr Parser::for_statement(std::size_t at) {
  NodePtr node = make(NodeKind::for_, at);
  adopt(*node, target(true, false));
  if (!skip_name("in")) unexpected("'in'");
  adopt(*node, tuple(false, false, "recursive"));
  adopt(*node, skip_name("if") ? expression() : nullptr);
  node->flag = skip_name("recursive");
  expect(Type::block_end, "'%}'");
  ++loops_;
  adopt(*node, body({"else", "endfor"}, "for", at));
  --loops_;
  if (skip_name("else")) {
    expect(Type::block_end, "'%}'");
    adopt(*node, body({"endfor"}, "else", at));
  } else {
    adopt(*node, nullptr);
  }
  ++next_;
  return node;
}

NodePtr Parser::target(bool with_tuple, bool with_namespace) {
  const std::size_t at = now().at;
  const auto one = [&]() -> NodePtr {
    const Nested nested(*this);
    if (skip_op("(")) {
      NodePtr inner = target(true, false);
      expect_op(")");
      return inner;
    }
    const std::size_t name_at = now().at;
    NodePtr name = make(NodeKind::name, name_at);
    name->text = identifier();
    if (with_namespace && skip_op(".")) {
      NodePtr attribute = make(NodeKind::attribute, name_at, std::move(name));
      attribute->text = identifier();
      return attribute;
    }
    for (const std::string_view word : {"true", "false", "none", "True", "False", "None"}) {
      if (name->text == word) fail(name_at, fmt::format("cannot assign to '{}'", word));
    }
    return name;
  };
  NodePtr first = one();
  if (!with_tuple || !is_op(",")) return first;
  NodePtr tuple = make(NodeKind::tuple, at, std::move(first));
  while (skip_op(",")) {
    if (is_name("in") || is_op("=") || now().type == Type::block_end || is_op(")")) break;
    adopt(*tuple, one());
  }
  return tuple;
}

NodePtr Parser::set_statement(std::size_t at) {
  NodePtr name = target(true, true);
  if (skip_op("=")) return make(NodeKind::set, at, std::move(name), expression());
  NodePtr node = make(NodeKind::set_block, at, std::move(name));
  NodePtr chain;
  while (is_op("|")) chain = filter(std::move(chain));
  adopt(*node, std::move(chain));
  expect(Type::block_end, "'%}'");
  adopt(*node, body({"endset"}, "set", at));
  ++next_;
  return node;
}

void Parser::parameters(Node& node) {
  expect_op("(");
  for (bool first = true; !skip_op(")"); first = false) {
    if (!first) expect_op(",");
    if (skip_op(")")) return;
    const std::size_t at = now().at;
    node.words.push_back(identifier());
    if (skip_op("=")) {
      adopt(node, condition());
    } else if (node.kids.size() > 1) {
      fail(at, "a parameter without a default after one with it");
    }
  }
}

// Fills the place of the first kid, which was reserved.
void Parser::macro_body(Node& node, std::string_view end, std::string_view tag) {
  const int loops = std::exchange(loops_, 0);
  const std::uint8_t uses = std::exchange(uses_, std::uint8_t{0});
  adopt(node, body({end}, tag, node.at));
  std::swap(node.kids.front(), node.kids.back());
  node.kids.pop_back();
  node.uses = uses_;
  uses_ |= uses;
  loops_ = loops;
}

NodePtr Parser::macro(std::size_t at) {
  NodePtr node = make(NodeKind::macro, at);
  node->text = identifier();
  node->kids.push_back(nullptr);
  parameters(*node);
  expect(Type::block_end, "'%}'");
  macro_body(*node, "endmacro", "macro");
  ++next_;
  // Some templates name the macro again at its end.
  while (now().type == Type::name) ++next_;
  return node;
}

NodePtr Parser::call_block(std::size_t at) {
  NodePtr node = make(NodeKind::call_block, at);
  node->text = "caller";
  node->kids.push_back(nullptr);
  if (is_op("(")) parameters(*node);
  NodePtr call = condition();
  if (call->kind != NodeKind::call) fail(call->at, "expected a call");
  expect(Type::block_end, "'%}'");
  macro_body(*node, "endcall", "call");
  ++next_;
  adopt(*node, std::move(call));
  return node;
}

NodePtr Parser::filter_block(std::size_t at) {
  NodePtr chain = filter(nullptr);
  while (is_op("|")) chain = filter(std::move(chain));
  expect(Type::block_end, "'%}'");
  NodePtr node = make(NodeKind::filter_block, at, std::move(chain));
  adopt(*node, body({"endfilter"}, "filter", at));
  ++next_;
  return node;
}

NodePtr Parser::with(std::size_t at) {
  NodePtr node = make(NodeKind::with, at);
  node->kids.push_back(nullptr);
  while (now().type != Type::block_end) {
    if (node->kids.size() > 1) expect_op(",");
    adopt(*node, target(false, false));
    expect_op("=");
    adopt(*node, condition());
  }
  ++next_;
  adopt(*node, body({"endwith"}, "with", at));
  std::swap(node->kids.front(), node->kids.back());
  node->kids.pop_back();
  ++next_;
  return node;
}

// What has its own scope and is otherwise written unchanged.
NodePtr Parser::scope_block(std::size_t at, const std::string& tag) {
  if (tag == "block") {
    identifier();
    while (skip_name("scoped") || skip_name("required")) {
    }
  }
  if (tag == "autoescape") {
    const NodePtr on = condition();
    if (on->kind != NodeKind::constant || truth(on->value))
      fail(at, "autoescape other than false is not supported");
  }
  expect(Type::block_end, "'%}'");
  const int loops = std::exchange(loops_, 0);
  const std::string end = "end" + tag;
  NodePtr node = make(NodeKind::block, at, body({end}, tag, at));
  loops_ = loops;
  ++next_;
  if (tag == "block" && now().type == Type::name) ++next_;
  return node;
}

}  // namespace weft::jinja
