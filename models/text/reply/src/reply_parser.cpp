#include "weft/reply/reply_parser.h"

#include <algorithm>

#include "weft/base/error.h"

#include "reply_parser.h"

namespace weft {

using reply::call_rows;
using reply::CallStyle;
using reply::find_row;
using reply::reasoning_rows;
using reply::ReplyMachine;

struct ReplyParser::Impl {
  std::unique_ptr<ReplyMachine> machine;
  std::vector<std::string> markers;
};

namespace {

void add_marker(std::vector<std::string>& markers, std::string_view text) {
  if (!text.empty()) markers.emplace_back(text);
}

}  // namespace

ReplySyntax reply_syntax(std::string_view template_text) {
  const auto has = [&](std::string_view mark) {
    return !mark.empty() && template_text.find(mark) != std::string_view::npos;
  };
  ReplySyntax syntax;
  for (const reply::CallRow& row : call_rows()) {
    const bool both = has(row.marks[0]) && (row.marks[1].empty() || has(row.marks[1]));
    if (!both && !has(row.other_mark)) continue;
    syntax.calls = row.name;
    break;
  }
  if (syntax.calls.empty() && has("tools")) syntax.calls = "json";
  for (const reply::ReasoningRow& row : reasoning_rows()) {
    if (row.calls.empty() ? !has(row.begin) && !has(row.end) : row.calls != syntax.calls) continue;
    syntax.reasoning = row.name;
    break;
  }
  return syntax;
}

std::vector<std::string_view> reasoning_syntax_names() {
  std::vector<std::string_view> names;
  for (const reply::ReasoningRow& row : reasoning_rows()) names.push_back(row.name);
  return names;
}

std::vector<std::string_view> call_syntax_names() {
  std::vector<std::string_view> names;
  for (const reply::CallRow& row : call_rows()) names.push_back(row.name);
  return names;
}

ReplyParser::ReplyParser(const ReplySyntax& syntax, const ReplyParserOptions& options)
    : impl_(std::make_unique<Impl>()) {
  const auto* calls = find_row(call_rows(), syntax.calls, "tool calls");
  const auto* reasoning = find_row(reasoning_rows(), syntax.reasoning, "thoughts");
  reply::Tools tools = reply::read_tools(options.tools);
  auto& markers = impl_->markers;
  if (reasoning) add_marker(markers, reasoning->begin), add_marker(markers, reasoning->end);
  if (calls) {
    for (const std::string_view text :
         {calls->section_open, calls->section_close, calls->open, calls->before_id,
          calls->after_name, calls->close, calls->parameter, calls->after_key, calls->value_open,
          calls->value_close, calls->quote})
      add_marker(markers, text);
    if (calls->recipient)
      for (const std::string_view text : {"<|start|>", "<|message|>", "<|eom|>"})
        add_marker(markers, text);
  }
  if (calls && calls->style == CallStyle::channels) {
    for (const std::string_view text : {"<|start|>", "<|channel|>", "<|message|>", "<|constrain|>"})
      add_marker(markers, text);
    impl_->machine = reply::make_channel_machine(std::move(tools), options.prompt);
  } else if (calls && calls->style == CallStyle::sections) {
    impl_->machine = reply::make_section_machine(std::move(tools), options.prompt);
  } else {
    impl_->machine = reply::make_marked_machine(reasoning, calls, std::move(tools), options.prompt);
  }
}

ReplyParser::~ReplyParser() = default;
ReplyParser::ReplyParser(ReplyParser&&) noexcept = default;
ReplyParser& ReplyParser::operator=(ReplyParser&&) noexcept = default;

std::vector<ReplyEvent> ReplyParser::push(std::string_view piece) {
  for (const char c : piece) impl_->machine->feed(c);
  return impl_->machine->events.take();
}

std::vector<ReplyEvent> ReplyParser::finish(bool truncated) {
  impl_->machine->finish(truncated);
  return impl_->machine->events.take();
}

const std::vector<std::string>& ReplyParser::markers() const {
  return impl_->markers;
}

}  // namespace weft
