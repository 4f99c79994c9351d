#pragma once
// Arguments in a notation like JSON's, with names without quotes and texts between markers:
// {city:<|"|>Oslo<|"|>,days:3,tags:[<|"|>a<|"|>]}. JSON is understood, too.

#include <string>
#include <string_view>
#include <utility>

#include "offered_tools.h"

namespace weft::reply {

enum class Step { more, done, bad };

class BracedReader {
 public:
  // `tool`: of `tools`, gives the types of its parameters. Both must outlive this.
  BracedReader(std::string_view quote, const Tools& tools, std::string_view tool)
      : quote_(quote), tools_(&tools), tool_(tool) {}

  // done: the object is complete.
  Step feed(char c);
  // The JSON since the last call.
  std::string take() { return std::exchange(json_, {}); }

 private:
  enum class State { value, value_or_end, key_or_end, key, after, bare, quoted, json_string };

  Step begin_value(char c);
  Step key(char c);
  bool is_open_key() const;
  Step bare(char c);
  Step after(char c);
  Step close(char c);
  void end_text(std::string_view json);
  std::string bare_value(std::string_view text) const;

  std::string_view quote_;
  const Tools* tools_;
  std::string_view tool_;
  State state_ = State::value;
  std::string open_;  // brackets
  std::string text_;  // text of the current value
  std::string name_;  // name of the member of the outermost object that contains it
  std::string json_;
};

}  // namespace weft::reply
