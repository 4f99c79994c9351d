#pragma once
// What a model writes, taken apart as it comes: thoughts, tool calls, and what is meant for the
// reader. How each is written is the model's custom, and its chat template tells which.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct ReplyEvent {
  enum class Kind {
    content,         // text: more of the answer
    reasoning,       // text: more of the thoughts before it
    call_begin,      // text: the tool's name; id, where the model gave one so far
    call_arguments,  // text: more of the JSON object of arguments
    call_end,        // id, where the model gave one
    call_dropped,    // the call that began turned out not to be one: forget it. What was written
                     // comes as content.
  };
  Kind kind = Kind::content;
  std::string text;
  int call = -1;  // of the call_ kinds: which one, from 0
  std::string id = {};

  bool operator==(const ReplyEvent&) const = default;
};

// How thoughts and calls are written. Empty: not at all.
struct ReplySyntax {
  std::string reasoning;  // a name of reasoning_syntax_names()
  std::string calls;      // a name of call_syntax_names()
};

// What a template speaks of. A syntax that it does not show is left empty, apart from calls where
// it takes tools in a way that is not known: "json".
ReplySyntax reply_syntax(std::string_view template_text);
std::vector<std::string_view> reasoning_syntax_names();
std::vector<std::string_view> call_syntax_names();

struct ReplyParserOptions {
  // The rendered conversation or its end: where it opened a section of thoughts, the reply begins
  // in one.
  std::string prompt = {};
  // The tools that were offered, a JSON array; empty: none, and no calls are looked for. Arguments
  // that are written without JSON take the types that it states.
  std::string tools = {};
};

// One reply. The events do not depend on how the text is cut into pieces, but for where deltas of
// the same kind are cut; pieces of whole characters give deltas of whole characters, and no delta
// holds a part of a marker. All text of calls that break their syntax comes as content.
class ReplyParser {
 public:
  // Throws ValueError for names that are not known, FormatError for tools that are no JSON array.
  ReplyParser(const ReplySyntax& syntax, const ReplyParserOptions& options);
  ~ReplyParser();
  ReplyParser(ReplyParser&&) noexcept;
  ReplyParser& operator=(ReplyParser&&) noexcept;

  // More of the reply: what it means, as far as that is clear.
  std::vector<ReplyEvent> push(std::string_view piece);
  // The reply is over. A call that is not complete is none.
  std::vector<ReplyEvent> finish();

  // Texts that a token must show to the parser though it is a control token.
  const std::vector<std::string>& markers() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
