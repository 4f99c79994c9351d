#pragma once
// Splits a model's output, as it is generated, into reasoning, tool calls and the answer. Each
// model family has its own notation; the chat template identifies it.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/template/chat_template.h"

namespace weft {

struct ReplyEvent {
  enum class Kind {
    content,         // text: more of the answer
    reasoning,       // text: more of the reasoning before the answer
    call_begin,      // text: the tool's name; id, if the model has given one by now
    call_arguments,  // text: more of the JSON object of arguments
    call_end,        // id, if the model gave one
    call_dropped,    // the call that began is malformed: discard it. Its text follows as content.
  };
  Kind kind = Kind::content;
  std::string text;
  int call = -1;  // for the call_ kinds: its number, from 0
  std::string id = {};

  bool operator==(const ReplyEvent&) const = default;
};

// The notation of reasoning and of calls. Empty: none.
struct ReplySyntax {
  std::string reasoning;  // a name of reasoning_syntax_names()
  std::string calls;      // a name of call_syntax_names()
};

// The notations that a template uses. One that it does not show is left empty, except that calls
// are "json" if the template accepts tools in an unknown notation.
ReplySyntax reply_syntax(std::string_view template_text);
struct TemplateSyntax {
  ReplySyntax syntax;
  bool round_trip = false;  // a call that the template writes was read back, equal
};
// The notations of a template, with that of calls found by reading back a call that it writes. If
// it shows neither tools nor calls, that is "json", which the adapted prompt asks for
// (docs/templates.md#what-templates-lack). Takes some renders.
TemplateSyntax template_syntax(const ChatTemplate& chat_template);
std::vector<std::string_view> reasoning_syntax_names();
std::vector<std::string_view> call_syntax_names();

struct ReplyParserOptions {
  // The rendered conversation or its end: if it opened a reasoning section, the reply begins inside
  // that section.
  std::string prompt = {};
  // The tools that were offered, a JSON array; empty: none, and calls are not recognized. Arguments
  // that are not written as JSON take the types given here.
  std::string tools = {};
};

// One reply. The events do not depend on how the text is divided into pieces, except for the
// borders between events of the same kind. Pieces of whole characters give events of whole
// characters, and no event contains part of a marker. The text of malformed calls comes as content.
class ReplyParser {
 public:
  // Throws ValueError for unknown syntax names, FormatError if the tools are not a JSON array.
  ReplyParser(const ReplySyntax& syntax, const ReplyParserOptions& options);
  ~ReplyParser();
  ReplyParser(ReplyParser&&) noexcept;
  ReplyParser& operator=(ReplyParser&&) noexcept;

  // Takes more of the reply and returns the events that are certain by now.
  std::vector<ReplyEvent> push(std::string_view piece);
  // Ends the reply. An incomplete call counts as malformed: its text is content. If the reply was
  // truncated, by a limit and not by the model, the beginning of a call at its end is dropped
  // instead.
  std::vector<ReplyEvent> finish(bool truncated = false);

  // Control tokens with these texts must be passed to the parser as text.
  const std::vector<std::string>& markers() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
