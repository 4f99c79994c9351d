#include <algorithm>

#include "jinja/parser.h"

namespace weft::jinja {

NodePtr parse(std::string_view source, Heap& heap) {
  return StatementParser(source, heap).run();
}

NodePtr StatementParser::run() {
  return body({}, "", 0);
}

// Parses up to a tag that is one of `ends`, whose name is then the current token.
NodePtr StatementParser::body(std::initializer_list<std::string_view> ends, std::string_view opened,
                              std::size_t opened_at) {
  const Nested nested(tokens_);
  NodePtr body = tree_.make(NodeKind::body, tokens_.now().at);
  for (;;) {
    const Token& t = tokens_.now();
    switch (t.type) {
      case Type::end:
        if (ends.size() == 0) return body;
        tokens_.fail(opened_at, fmt::format("this '{}' has no end: '{}' is missing", opened,
                                            *(ends.end() - 1)));
      case Type::data: {
        NodePtr data = tree_.make(NodeKind::data, t.at);
        data->text = t.text;
        tokens_.take();
        tree_.adopt(*body, std::move(data));
        break;
      }
      case Type::variable_begin: {
        tokens_.take();
        NodePtr output = tree_.make(NodeKind::output, t.at, expressions_.expression());
        tokens_.expect(Type::variable_end, "'}}'");
        tree_.adopt(*body, std::move(output));
        break;
      }
      case Type::block_begin: {
        tokens_.take();
        if (tokens_.now().type != Type::name) tokens_.unexpected("the name of a tag");
        if (std::ranges::find(ends, tokens_.now().text) != ends.end()) return body;
        NodePtr node = statement();
        tokens_.expect(Type::block_end, "'%}'");
        tree_.adopt(*body, std::move(node));
        break;
      }
      default:
        tokens_.unexpected("text or a tag");
    }
  }
}

NodePtr StatementParser::statement() {
  const std::size_t at = tokens_.now().at;
  const std::string tag = tokens_.identifier();
  if (tag == "if") return if_statement(at);
  if (tag == "for") return for_statement(at);
  if (tag == "set") return set_statement(at);
  if (tag == "macro") return macro(at);
  if (tag == "call") return call_block(at);
  if (tag == "filter") return filter_block(at);
  if (tag == "with") return with(at);
  if (tag == "block" || tag == "generation" || tag == "autoescape") return scope_block(at, tag);
  if (tag == "break" || tag == "continue") {
    if (loops_ == 0) tokens_.fail(at, fmt::format("'{}' outside of a loop", tag));
    return tree_.make(tag == "break" ? NodeKind::break_ : NodeKind::continue_, at);
  }
  if (tag == "include" || tag == "import" || tag == "from" || tag == "extends")
    tokens_.fail(at, fmt::format("'{}' needs another template, which is not supported", tag));
  tokens_.fail(at, fmt::format("unknown tag '{}'", tag.substr(0, 40)));
}

NodePtr StatementParser::if_statement(std::size_t at) {
  NodePtr node = tree_.make(NodeKind::if_, at);
  for (;;) {
    tree_.adopt(*node, expressions_.expression(false));
    tokens_.expect(Type::block_end, "'%}'");
    tree_.adopt(*node, body({"elif", "else", "endif"}, "if", at));
    if (tokens_.skip_name("elif")) continue;
    if (tokens_.skip_name("else")) {
      tokens_.expect(Type::block_end, "'%}'");
      tree_.adopt(*node, body({"endif"}, "else", at));
    }
    tokens_.take();
    return node;
  }
}

NodePtr StatementParser::for_statement(std::size_t at) {
  NodePtr node = tree_.make(NodeKind::for_, at);
  tree_.adopt(*node, target(true, false));
  if (!tokens_.skip_name("in")) tokens_.unexpected("'in'");
  tree_.adopt(*node, expressions_.tuple(false, false, "recursive"));
  tree_.adopt(*node, tokens_.skip_name("if") ? expressions_.expression() : nullptr);
  node->flag = tokens_.skip_name("recursive");
  tokens_.expect(Type::block_end, "'%}'");
  ++loops_;
  tree_.adopt(*node, body({"else", "endfor"}, "for", at));
  --loops_;
  if (tokens_.skip_name("else")) {
    tokens_.expect(Type::block_end, "'%}'");
    tree_.adopt(*node, body({"endfor"}, "else", at));
  } else {
    tree_.adopt(*node, nullptr);
  }
  tokens_.take();
  return node;
}

NodePtr StatementParser::target(bool with_tuple, bool with_namespace) {
  const std::size_t at = tokens_.now().at;
  const auto one = [&]() -> NodePtr {
    const Nested nested(tokens_);
    if (tokens_.skip_op("(")) {
      NodePtr inner = target(true, false);
      tokens_.expect_op(")");
      return inner;
    }
    const std::size_t name_at = tokens_.now().at;
    NodePtr name = tree_.make(NodeKind::name, name_at);
    name->text = tokens_.identifier();
    if (with_namespace && tokens_.skip_op(".")) {
      NodePtr attribute = tree_.make(NodeKind::attribute, name_at, std::move(name));
      attribute->text = tokens_.identifier();
      return attribute;
    }
    for (const std::string_view word : {"true", "false", "none", "True", "False", "None"}) {
      if (name->text == word) tokens_.fail(name_at, fmt::format("cannot assign to '{}'", word));
    }
    return name;
  };
  NodePtr first = one();
  if (!with_tuple || !tokens_.is_op(",")) return first;
  NodePtr tuple = tree_.make(NodeKind::tuple, at, std::move(first));
  while (tokens_.skip_op(",")) {
    if (tokens_.is_name("in") || tokens_.is_op("=") || tokens_.now().type == Type::block_end ||
        tokens_.is_op(")"))
      break;
    tree_.adopt(*tuple, one());
  }
  return tuple;
}

NodePtr StatementParser::set_statement(std::size_t at) {
  NodePtr name = target(true, true);
  if (tokens_.skip_op("="))
    return tree_.make(NodeKind::set, at, std::move(name), expressions_.expression());
  NodePtr node = tree_.make(NodeKind::set_block, at, std::move(name));
  NodePtr chain;
  while (tokens_.is_op("|")) chain = expressions_.filter(std::move(chain));
  tree_.adopt(*node, std::move(chain));
  tokens_.expect(Type::block_end, "'%}'");
  tree_.adopt(*node, body({"endset"}, "set", at));
  tokens_.take();
  return node;
}

void StatementParser::parameters(Node& node) {
  tokens_.expect_op("(");
  for (bool first = true; !tokens_.skip_op(")"); first = false) {
    if (!first) tokens_.expect_op(",");
    if (tokens_.skip_op(")")) return;
    const std::size_t at = tokens_.now().at;
    node.words.push_back(tokens_.identifier());
    if (tokens_.skip_op("=")) {
      tree_.adopt(node, expressions_.condition());
    } else if (node.kids.size() > 1) {
      tokens_.fail(at, "a parameter without a default after one with it");
    }
  }
}

// Fills the place of the first kid, which was reserved.
void StatementParser::macro_body(Node& node, std::string_view end, std::string_view tag) {
  const int loops = std::exchange(loops_, 0);
  const std::uint8_t uses = expressions_.take_uses();
  tree_.adopt(node, body({end}, tag, node.at));
  std::swap(node.kids.front(), node.kids.back());
  node.kids.pop_back();
  node.uses = expressions_.take_uses();
  expressions_.add_uses(node.uses | uses);
  loops_ = loops;
}

NodePtr StatementParser::macro(std::size_t at) {
  NodePtr node = tree_.make(NodeKind::macro, at);
  node->text = tokens_.identifier();
  node->kids.push_back(nullptr);
  parameters(*node);
  tokens_.expect(Type::block_end, "'%}'");
  macro_body(*node, "endmacro", "macro");
  tokens_.take();
  // Some templates name the macro again at its end.
  while (tokens_.now().type == Type::name) tokens_.take();
  return node;
}

NodePtr StatementParser::call_block(std::size_t at) {
  NodePtr node = tree_.make(NodeKind::call_block, at);
  node->text = "caller";
  node->kids.push_back(nullptr);
  if (tokens_.is_op("(")) parameters(*node);
  NodePtr call = expressions_.condition();
  if (call->kind != NodeKind::call) tokens_.fail(call->at, "expected a call");
  tokens_.expect(Type::block_end, "'%}'");
  macro_body(*node, "endcall", "call");
  tokens_.take();
  tree_.adopt(*node, std::move(call));
  return node;
}

NodePtr StatementParser::filter_block(std::size_t at) {
  NodePtr chain = expressions_.filter(nullptr);
  while (tokens_.is_op("|")) chain = expressions_.filter(std::move(chain));
  tokens_.expect(Type::block_end, "'%}'");
  NodePtr node = tree_.make(NodeKind::filter_block, at, std::move(chain));
  tree_.adopt(*node, body({"endfilter"}, "filter", at));
  tokens_.take();
  return node;
}

NodePtr StatementParser::with(std::size_t at) {
  NodePtr node = tree_.make(NodeKind::with, at);
  node->kids.push_back(nullptr);
  while (tokens_.now().type != Type::block_end) {
    if (node->kids.size() > 1) tokens_.expect_op(",");
    tree_.adopt(*node, target(false, false));
    tokens_.expect_op("=");
    tree_.adopt(*node, expressions_.condition());
  }
  tokens_.take();
  tree_.adopt(*node, body({"endwith"}, "with", at));
  std::swap(node->kids.front(), node->kids.back());
  node->kids.pop_back();
  tokens_.take();
  return node;
}

// What has its own scope and is otherwise written unchanged.
NodePtr StatementParser::scope_block(std::size_t at, const std::string& tag) {
  if (tag == "block") {
    tokens_.identifier();
    while (tokens_.skip_name("scoped") || tokens_.skip_name("required")) {
    }
  }
  if (tag == "autoescape") {
    const NodePtr on = expressions_.condition();
    if (on->kind != NodeKind::constant || truth(on->value))
      tokens_.fail(at, "autoescape other than false is not supported");
  }
  tokens_.expect(Type::block_end, "'%}'");
  const int loops = std::exchange(loops_, 0);
  const std::string end = "end" + tag;
  NodePtr node = tree_.make(NodeKind::block, at, body({end}, tag, at));
  loops_ = loops;
  tokens_.take();
  if (tag == "block" && tokens_.now().type == Type::name) tokens_.take();
  return node;
}

}  // namespace weft::jinja
