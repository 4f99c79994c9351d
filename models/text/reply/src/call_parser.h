#pragma once
// Parses a section of a reply that may be one or several tool calls, byte by byte.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/reply/reply_parser.h"

#include "braced_reader.h"
#include "json_scan.h"
#include "offered_tools.h"
#include "syntax.h"

namespace weft::reply {

// Appends to events, and merges deltas of the same kind.
class Events {
 public:
  void add(ReplyEvent::Kind kind, std::string_view text, int call = -1, std::string id = {});
  std::vector<ReplyEvent> take() { return std::exchange(events_, {}); }
  int next_call = 0;

 private:
  std::vector<ReplyEvent> events_;
};

// The call that is being generated.
class PartialCall {
 public:
  PartialCall(Events& events, const Tools& tools, bool only_known)
      : events_(&events), tools_(&tools), only_known_(only_known) {}
  bool name(std::string_view name);  // false for an invalid name
  void id(std::string_view id) { id_ = id; }
  void arguments(std::string_view delta);
  void begin();  // the arguments begin
  bool end();    // false if there is none
  void drop();
  bool begun() const { return index_ >= 0; }
  const std::string& called() const { return name_; }

 private:
  Events* events_;
  const Tools* tools_;
  bool only_known_;
  std::string name_, id_, waiting_;
  bool wants_begin_ = false;
  int index_ = -1;
};

// {"name": .., "arguments": ..}, an array of such, or one within another object. `keyed`: {NAME:
// {..}}.
class ObjectParser {
 public:
  ObjectParser(Events& events, const Tools& tools, bool bare, bool keyed)
      : events_(events), tools_(tools), bare_(bare), keyed_(keyed), call_(events, tools, bare) {}
  Step feed(char c);
  void drop() { call_.drop(); }
  int calls() const { return calls_; }  // complete ones
  bool is_named() const { return !call_.called().empty(); }

 private:
  enum class Role : char { list, call, inner, other };
  Step close();
  bool open(bool object);
  bool value(std::string_view literal);

  Events& events_;
  const Tools& tools_;
  bool bare_, keyed_;
  JsonScan scan_;
  PartialCall call_;
  std::vector<Role> roles_;
  std::string literal_, key_;
  std::size_t arguments_depth_ = 0;  // depth of the arguments' brackets; 0: not within them
  int calls_ = 0;
};

// How calls begin.
enum class CallStart : std::uint8_t {
  marked,    // with the text around all calls, or that of one call
  bare,      // with their first brace
  unwrapped  // with the text of one call, though there is one around all
};

// From the opening text of a row to the end of its calls.
class CallParser {
 public:
  // `opening` was already consumed.
  CallParser(const CallRow& row, Events& events, const Tools& tools, CallStart start,
             std::string_view opening);
  // done: `c` belonged to the calls; bad: it did not, and raw() is the text since the last call.
  Step feed(char c);
  Step finish();
  void drop();
  // Whether the text so far is more than one that merely begins like a call.
  bool is_certain() const;
  const std::string& raw() const { return raw_; }
  // Bytes at the end of raw() that may be the beginning of another marker.
  std::size_t unmatched() const { return matched_; }

 private:
  enum class Phase {
    section,
    open,
    name,
    after_name,
    id,
    arguments,
    braced,
    python,
    json,
    parameters,
    key,
    attribute,
    value_open,
    value,
    close
  };
  Step advance(char c);
  bool keeps_space() const;
  Step literal(std::string_view text, char c, Phase next);
  Step choice(std::string_view a, Phase then_a, std::string_view b, Phase then_b, char c);
  Step enter(Phase phase);
  Step name(char c);
  Step after_name(char c);
  Step id(char c);
  Step parameters(char c);
  Step text_up_to(std::string_view end, char c, std::string& out, Phase next);
  Step json(char c);
  Step arguments(char c);
  Step braced(char c);
  Step python(char c);
  Step end_python(std::string_view text);
  Step value(char c);
  Step complete();
  void add_parameter(std::string_view text);

  const CallRow& row_;
  Events& events_;
  const Tools& tools_;
  bool bare_, unwrapped_;
  Phase phase_;
  std::optional<PartialCall> call_;
  std::optional<ObjectParser> object_;
  std::optional<BracedReader> braced_;
  JsonScan scan_;
  std::string raw_;
  std::string text_, key_, attribute_;
  std::size_t matched_ = 0;
  int parameters_ = 0;
  int calls_ = 0;
};

}  // namespace weft::reply
