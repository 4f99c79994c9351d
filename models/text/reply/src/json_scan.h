#pragma once
// Scans JSON byte by byte: whether it is well-formed so far, and where its parts begin and end.
// Does not recurse, and stores only the kinds of the open brackets.

#include <string>

namespace weft::reply {

class JsonScan {
 public:
  enum class Event {
    none,
    bad,     // not JSON
    open,    // { or [
    close,   // } or ]: depth() is the depth after it
    string,  // the closing quote of a value
    key,     // the closing quote of a member's name
    scalar,  // the first byte of a number, true, false or null
  };
  // After the end of the value only white space is accepted.
  Event feed(char c);
  bool done() const { return state_ == State::after && open_.empty(); }
  std::size_t depth() const { return open_.size(); }
  bool in_string() const {
    return state_ == State::string || state_ == State::escape || state_ == State::hex;
  }
  bool expects_value() const { return state_ == State::value || state_ == State::value_or_end; }

 private:
  enum class State {
    value,
    value_or_end,  // after [
    key_or_end,    // after {
    key,           // after a comma
    colon,
    after,  // a value
    string,
    escape,
    hex,
    scalar,
  };
  Event feed_string(char c);
  Event begin_value(char c);
  Event end_bracket(char c);
  bool scalar_is_good() const;

  State state_ = State::value;
  bool is_key_ = false;
  int hex_left_ = 0;
  std::string scalar_;
  std::string open_;
};

// Whether a text is one JSON value.
bool is_json(std::string_view text);
// Decodes a string literal with its quotes; unpaired surrogates become U+FFFD. REQUIRES: JsonScan
// accepted it.
std::string decode_json_string(std::string_view literal);

}  // namespace weft::reply
