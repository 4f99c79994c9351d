#pragma once
// The state machines of ReplyParser. Each takes a reply byte by byte, so that it does not matter
// how the text was divided.

#include <memory>

#include "call_parser.h"

namespace weft::reply {

class ReplyMachine {
 public:
  explicit ReplyMachine(Tools offered) : tools(std::move(offered)) {}
  virtual ~ReplyMachine() = default;
  virtual void feed(char c) = 0;
  virtual void finish(bool truncated) = 0;
  Events events;

 protected:
  Tools tools;
};

// Text that is held back at the end of a truncated reply is dropped from this size on, if it may be
// the beginning of a call. Shorter text is more often content.
inline constexpr std::size_t kMinCutMarker = 3;

// Holds back text that may be the beginning of one of several markers.
class MarkerFinder {
 public:
  // Takes a byte. Passes bytes that are certainly text to `text`, one by one. Returns the index of
  // the marker that is complete, or -1.
  template <class Text>
  int feed(const std::vector<std::string_view>& markers, char c, const Text& text) {
    held_ += c;
    while (!held_.empty()) {
      bool may_be = false;
      for (std::size_t i = 0; i < markers.size(); ++i) {
        if (held_ == markers[i]) {
          held_.clear();
          return static_cast<int>(i);
        }
        may_be = may_be || markers[i].starts_with(held_);
      }
      if (may_be) break;
      const char first = held_.front();
      held_.erase(0, 1);
      text(first);
    }
    return -1;
  }
  bool empty() const { return held_.empty(); }
  std::string take() { return std::exchange(held_, {}); }

 private:
  std::string held_;
};

// Reasoning and calls between markers; either may be null.
std::unique_ptr<ReplyMachine> make_marked_machine(const ReasoningRow* reasoning,
                                                  const CallRow* calls, Tools tools,
                                                  std::string_view prompt);
std::unique_ptr<ReplyMachine> make_channel_machine(Tools tools, std::string_view prompt);
std::unique_ptr<ReplyMachine> make_section_machine(Tools tools, std::string_view prompt);

}  // namespace weft::reply
