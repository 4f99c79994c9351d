#include "weft/reply/call_writer.h"

#include <optional>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/json_string.h"

#include "json_scan.h"
#include "python_literal.h"
#include "syntax.h"

namespace weft {
namespace {

using reply::CallRow;
using reply::CallStyle;

bool is_written(const CallRow& row) {
  const bool marked = row.style == CallStyle::object || row.style == CallStyle::python;
  return marked && row.section_open.empty() && row.after_name.empty();
}

std::string_view arguments_of(const ToolCall& call) {
  return call.arguments.empty() ? "{}" : std::string_view(call.arguments);
}

std::string object_text(const CallRow& row, const ToolCall& call) {
  const std::string_view arguments = arguments_of(call);
  if (!reply::is_json(arguments))
    fail<FormatError>("the arguments of a call of {} are not JSON", call.name);
  const std::string name = json_string(call.name);
  if (row.keyed) return fmt::format("{{{}: {}}}", name, arguments);
  return fmt::format("{{{}: {}, {}: {}}}", json_string(row.name_key), name,
                     json_string(row.arguments_key), arguments);
}

std::string object_list(const CallRow& row, std::span<const ToolCall> calls) {
  std::string all;
  for (const ToolCall& call : calls) all += (all.empty() ? "[" : ", ") + object_text(row, call);
  return all + "]";
}

std::optional<std::string> python_list(std::span<const ToolCall> calls) {
  std::string all;
  for (const ToolCall& call : calls) {
    const auto text = reply::python_call_text(call.name, arguments_of(call));
    if (!text) return std::nullopt;
    all += (all.empty() ? "[" : ", ") + *text;
  }
  return all + "]";
}

std::vector<CallText> written(const CallRow& row, std::span<const ToolCall> calls) {
  const std::string open(row.open), close(row.close);
  std::vector<CallText> texts;
  if (calls.empty()) return texts;
  if (row.style == CallStyle::python) {
    // The parser takes objects, too.
    std::optional<std::string> list = python_list(calls);
    texts.push_back({open, list ? std::move(*list) : object_list(row, calls), close});
  } else if (row.is_list) {
    texts.push_back({open, object_list(row, calls), close});
  } else {
    const std::string_view line = close.empty() ? "" : "\n";
    for (const ToolCall& call : calls)
      texts.push_back({fmt::format("{}{}", open, line), object_text(row, call),
                       fmt::format("{}{}", line, close)});
  }
  return texts;
}

}  // namespace

CallWriter call_writer(const ReplySyntax& syntax) {
  const CallRow* row = reply::find_row(reply::call_rows(), syntax.calls, "tool calls");
  if (!row || !is_written(*row)) return {};
  return [row](std::span<const ToolCall> calls) { return written(*row, calls); };
}

}  // namespace weft
