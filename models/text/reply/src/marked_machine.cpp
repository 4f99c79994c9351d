#include <algorithm>

#include "weft/base/text.h"

#include "reply_parser.h"

namespace weft::reply {
namespace {

using Kind = ReplyEvent::Kind;

class MarkedMachine final : public ReplyMachine {
 public:
  MarkedMachine(const ReasoningRow* reasoning, const CallRow* calls, Tools offered,
                std::string_view prompt)
      : ReplyMachine(std::move(offered)), reasoning_(reasoning), calls_(calls) {
    add_frames();
    if (calls_ && !tools.any()) calls_ = nullptr;
    if (reasoning_ && trim_right(prompt).ends_with(trim_right(reasoning_->begin)))
      thinks_ = skips_space_ = true;
  }

  void feed(char c) override {
    if (call_) return feed_call(c);
    if (after_bare_) return feed_after_bare(c);
    const bool starts_object = calls_ && calls_->style == CallStyle::bare && !thinks_ && !said_ &&
                               c == '{' && finder_.empty();
    if (starts_object) {
      begin_call(CallStart::bare, "");
      return feed_call(c);
    }
    const int found = finder_.feed(markers(), c, [this](char t) { text(t); });
    if (found >= 0) mark(found);
  }

  void finish(bool truncated) override {
    if (call_) {
      if (call_->finish() == Step::done) {
        end_call();
      } else if (truncated && call_->is_certain()) {
        call_->drop();
        end_call();
      } else {
        give_up();
      }
    }
    const std::string held = finder_.take();
    const bool cut = truncated && begins_call(held);
    if (!cut)
      for (const char c : held) text(c);
    if (!thinks_ && !skips_space_ && !cut) add(std::exchange(space_, {}));
    space_.clear();
  }

 private:
  enum Marker { kThinkBegin, kThinkEnd, kCall, kOneCall, kFrame };

  const std::vector<std::string_view>& markers() {
    list_.clear();
    kinds_.clear();
    const auto marker = [&](std::string_view text, Marker kind) {
      if (text.empty()) return;
      list_.push_back(text);
      kinds_.push_back(kind);
    };
    if (thinks_) {
      marker(reasoning_->end, kThinkEnd);
      return list_;
    }
    if (reasoning_ && !said_) {
      marker(reasoning_->begin, kThinkBegin);
      marker(reasoning_->end, kThinkEnd);
    }
    if (calls_) {
      marker(calls_->section_open, kCall);
      marker(calls_->open, calls_->section_open.empty() ? kCall : kOneCall);
    }
    for (const std::string& frame : frames_) marker(frame, kFrame);
    return list_;
  }

  // Texts around answers, which are ignored.
  void add_frames() {
    if (reasoning_)
      for (const std::string_view frame : reasoning_->frames)
        if (!frame.empty()) frames_.emplace_back(frame);
    if (!calls_ || !calls_->recipient) return;
    frames_ = {"<|start|>assistant", " to=user<|message|>", "<|eom|>", "<|eot|>"};
    for (const auto& [tool, parameters] : tools.parameters)
      frames_.push_back(" to=" + tool + "<|message|>");
  }

  void mark(int found) {
    switch (kinds_[static_cast<std::size_t>(found)]) {
      case kThinkBegin:
        thinks_ = skips_space_ = true;
        space_.clear();
        break;
      case kThinkEnd:
        thinks_ = false;
        skips_space_ = true;
        space_.clear();
        break;
      case kFrame:
        skips_space_ = !said_;
        break;
      case kCall:
        begin_call(calls_->style == CallStyle::bare ? CallStart::bare : CallStart::marked,
                   list_[static_cast<std::size_t>(found)]);
        break;
      case kOneCall:
        begin_call(CallStart::unwrapped, list_[static_cast<std::size_t>(found)]);
        break;
    }
  }

  // Whether the text, which may be the beginning of a marker, is taken for that of a call.
  bool begins_call(std::string_view held) {
    const bool follows_call = events.next_call > 0 && !said_;
    if (held.size() < (follows_call ? 1 : kMinCutMarker)) return false;
    markers();
    for (std::size_t i = 0; i < list_.size(); ++i)
      if ((kinds_[i] == kCall || kinds_[i] == kOneCall) && list_[i].starts_with(held)) return true;
    return false;
  }

  void begin_call(CallStart start, std::string_view opening) {
    call_.emplace(*calls_, events, tools, start, opening);
  }

  void feed_call(char c) {
    const Step step = call_->feed(c);
    if (step == Step::more) return;
    if (step == Step::done) {
      after_bare_ = calls_->style == CallStyle::bare;
      return end_call();
    }
    give_up();
    feed(c);
  }

  void end_call() {
    call_.reset();
    space_.clear();
    skips_space_ = true;
    said_ = false;
  }

  // Bare calls may come one after the other, and with a brace too many.
  void feed_after_bare(char c) {
    if (c == '}' && after_text_.empty()) return;
    if (is_space(c) || c == ';' || c == ',') {
      after_text_ += c;
      return;
    }
    after_bare_ = false;
    const std::string between = std::exchange(after_text_, {});
    if (c != '{')
      for (const char t : between) text(t);
    feed(c);
  }

  // It was not a call: its text is content. Its end may be the beginning of a marker.
  void give_up() {
    call_->drop();
    const std::string raw = call_->raw();
    const std::size_t again = std::min(call_->unmatched(), raw.size());
    call_.reset();
    for (std::size_t i = 0; i < raw.size() - again; ++i) text(raw[i]);
    for (std::size_t i = raw.size() - again; i < raw.size(); ++i) feed(raw[i]);
  }

  // A byte of content or reasoning. White space is held back until the next text is known.
  void text(char c) {
    if (is_space(c)) {
      if (!skips_space_) space_ += c;
      return;
    }
    skips_space_ = false;
    add(std::exchange(space_, {}));
    add({&c, 1});
    if (!thinks_) said_ = true;
  }

  void add(std::string_view text) { events.add(thinks_ ? Kind::reasoning : Kind::content, text); }

  const ReasoningRow* reasoning_;
  const CallRow* calls_;
  bool thinks_ = false;
  bool said_ = false;         // there is content since the beginning or the last call
  bool skips_space_ = false;  // white space here belongs to the marker before
  bool after_bare_ = false;
  std::string after_text_;  // white space that is held back until the next text is known
  std::string space_;
  std::vector<std::string> frames_;
  MarkerFinder finder_;
  std::vector<std::string_view> list_;
  std::vector<Marker> kinds_;
  std::optional<CallParser> call_;
};

}  // namespace

std::unique_ptr<ReplyMachine> make_marked_machine(const ReasoningRow* reasoning,
                                                  const CallRow* calls, Tools tools,
                                                  std::string_view prompt) {
  return std::make_unique<MarkedMachine>(reasoning, calls, std::move(tools), prompt);
}

}  // namespace weft::reply
