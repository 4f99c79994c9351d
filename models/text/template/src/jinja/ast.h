#pragma once
// A template as a tree. One plain struct for all kinds of nodes; the comment of each kind lists its
// parts.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/value.h"

namespace weft::jinja {

enum class NodeKind : std::uint8_t {
  // expressions
  constant,   // value
  name,       // text
  list,       // kids
  tuple,      // kids
  dict,       // kids: key, value, key, ...
  attribute,  // kids[0] . text
  item,       // kids[0] [ kids[1] ]
  slice,      // kids: begin, end, step, each may be null
  call,       // kids[0]; arguments: the rest
  filter,     // text; kids[0] (null: the text of a block); arguments: the rest
  test,       // text; kids[0]; arguments: the rest
  negative,   // kids[0]
  positive,   // kids[0]
  not_,       // kids[0]
  binary,     // text is the operator; kids
  compare,    // kids; words: the operators between them
  concat,     // kids
  and_,       // kids
  or_,        // kids
  condition,  // kids: test, then, else (may be null)
  // statements
  data,    // text
  output,  // kids[0]
  body,    // kids
  if_,     // kids: test, body, test, body, ..., [body]
  for_,    // kids: target, items, filter (may be null), body, else (may be null); flag: recursive
  set,     // kids: target, value
  set_block,     // kids: target, filters (may be null), body
  macro,         // text; words: parameters; kids: body, defaults of the last parameters
  call_block,    // words, kids as macro, then the call as the last kid
  filter_block,  // kids: filters, body
  with,          // kids: body, then target, value, target, ...
  block,         // kids[0]: a body with its own scope
  break_,
  continue_,
};

struct Node;
using NodePtr = std::unique_ptr<Node>;

struct Node {
  NodeKind kind = NodeKind::body;
  std::uint32_t at = 0;      // offset in the source
  std::uint16_t height = 0;  // levels of nodes below this one
  bool flag = false;
  std::uint8_t uses = 0;  // a macro: which names in kUses its body mentions
  std::string text;
  Value value;
  std::vector<std::string> words;
  std::vector<NodePtr> kids;
  // The arguments of a call, a filter or a test: those given by name, and *args, **kwargs.
  std::vector<std::pair<std::string, NodePtr>> named;
  NodePtr all_args, all_named;
};

inline constexpr std::string_view kUses[] = {"caller", "varargs", "kwargs"};

struct Token {
  enum class Type : std::uint8_t {
    data,
    block_begin,
    block_end,
    variable_begin,
    variable_end,
    name,
    string,
    integer,
    real,
    op,
    end,
  };
  Type type = Type::end;
  std::size_t at = 0;
  std::string text;  // a string is decoded
};

// The source with \n as line ends, and without the last one. Positions refer to it.
std::string normalized(std::string_view source);
// REQUIRES: `source` is normalized. Throws ChatTemplateError.
std::vector<Token> lex(std::string_view source);
// Constants go to `heap`.
NodePtr parse(std::string_view source, Heap& heap);

inline constexpr int kMaxNesting = 200;  // levels of blocks and parentheses

}  // namespace weft::jinja
