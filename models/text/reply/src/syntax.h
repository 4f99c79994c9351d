#pragma once
// The notations of models as data: one row for each way of writing reasoning or calls.

#include <algorithm>
#include <span>
#include <string_view>

#include "weft/base/error.h"

namespace weft::reply {

struct ReasoningRow {
  std::string_view name, begin, end;
  std::string_view calls = {};      // with this notation of calls, and no other; empty: with any
  std::string_view frames[2] = {};  // marks around the answer, which are not part of it
};

enum class CallStyle {
  object,  // open, an object with name and arguments or an array of such, close
  bare,    // as object, without anything around it, at the beginning of the answer
  named,   // open, NAME, after_name, the arguments as JSON, close
  tagged,  // open, NAME, after_name, (parameter, KEY, after_key, value_open, VALUE, value_close)*,
           // close
  braced,  // open, NAME, arguments with names without quotes and texts between `quote`, close
  python,  // open, [NAME(KEY=VALUE, ..), ..] or an array of objects, close
  channels,  // the harmony format: messages with a channel and a recipient
  sections,  // NAME newline arguments, separated by open; "all" for content
};

struct CallRow {
  std::string_view name;
  CallStyle style = CallStyle::object;
  std::string_view marks[2] = {};    // a template that contains both uses this notation
  std::string_view other_mark = {};  // so does one that contains this
  std::string_view section_open = {}, section_close = {};  // around all calls
  std::string_view open = {}, after_name = {}, close = {};
  std::string_view before_id = {};  // an id may follow the name, after this mark
  std::string_view parameter = {}, after_key = {}, value_open = {}, value_close = {};
  bool close_optional = false;        // the reply may end without it
  std::string_view name_prefix = {};  // is not part of the name
  bool is_list = false;               // calls that are objects come as an array
  std::string_view name_key = "name", arguments_key = "arguments";  // members of objects
  bool keyed = false;                                               // objects are {NAME: ARGUMENTS}
  std::string_view quote = {};                                      // around texts, if braced
  bool recipient = false;  // " to=NAME<|message|>" comes before each call
};

std::span<const ReasoningRow> reasoning_rows();
std::span<const CallRow> call_rows();

// Null for an empty name. Throws ValueError for an unknown one; `what` names the syntax in it.
template <class Row>
const Row* find_row(std::span<const Row> rows, std::string_view name, std::string_view what) {
  if (name.empty()) return nullptr;
  const auto it = std::ranges::find(rows, name, &Row::name);
  if (it == rows.end()) fail<ValueError>("unknown syntax for {}: '{}'", what, name);
  return &*it;
}

}  // namespace weft::reply
