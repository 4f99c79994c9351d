// Parses arbitrary text as a reply. The first byte chooses the format of calls and thoughts, the
// second where to split the text. Splitting must not change the events, calls must begin and end in
// order, and without calls and thoughts the events must contain every byte.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "weft/reply/reply_parser.h"

namespace {

using namespace weft;
using Kind = ReplyEvent::Kind;

constexpr const char* kTools =
    R"([{"function": {"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}}])";

void require(bool ok) {
  if (!ok) std::abort();
}

// Joins neighbouring deltas.
std::vector<ReplyEvent> parse(const ReplySyntax& syntax, const std::string& prompt,
                              std::string_view text, std::size_t step) {
  ReplyParser parser(syntax, {.prompt = prompt, .tools = kTools});
  std::vector<ReplyEvent> all;
  const auto take = [&](std::vector<ReplyEvent> events) {
    for (ReplyEvent& e : events) {
      const bool delta =
          e.kind == Kind::content || e.kind == Kind::reasoning || e.kind == Kind::call_arguments;
      if (delta && !all.empty() && all.back().kind == e.kind && all.back().call == e.call)
        all.back().text += e.text;
      else
        all.push_back(std::move(e));
    }
  };
  for (std::size_t at = 0; at < text.size(); at += step) take(parser.push(text.substr(at, step)));
  take(parser.finish());
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static const auto reasoning = reasoning_syntax_names();
  static const auto calls = call_syntax_names();
  const ReplySyntax syntax{std::string(reasoning[data[0] % reasoning.size()]),
                           std::string(calls[data[0] % calls.size()])};
  const std::string prompt = data[1] < 64    ? "<|start|>assistant"
                             : data[1] < 128 ? ">>>"
                             : data[1] < 192 ? "<think>\n"
                                             : "";
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto whole = parse(syntax, prompt, text, text.size() + 1);
  require(parse(syntax, prompt, text, 1 + data[1] % 7) == whole);

  bool open = false;
  for (const ReplyEvent& e : whole) {
    if (e.kind == Kind::call_begin) {
      require(!open && !e.text.empty());
      open = true;
    } else if (e.kind == Kind::call_arguments) {
      require(open);
    } else if (e.kind == Kind::call_end || e.kind == Kind::call_dropped) {
      require(open);
      open = false;
    } else {
      require(!open);
    }
  }
  require(!open);

  std::string content;
  for (const ReplyEvent& e : parse({}, "", text, 5)) content += e.text;
  require(content == text);
  return 0;
}
