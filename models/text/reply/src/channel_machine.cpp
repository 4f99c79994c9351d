// Replies in which every message names its destination: by channel and recipient (harmony), or by
// the name of the tool in its first line.
#include <algorithm>

#include "weft/base/no_destructor.h"
#include "weft/base/text.h"

#include "reply_parser.h"

namespace weft::reply {
namespace {

using Kind = ReplyEvent::Kind;

constexpr std::size_t kMaxHeader = 1024;

// The body of a call: JSON, all of it.
class Body {
 public:
  Body(Events& events, const Tools& tools, std::string_view name, std::string_view header)
      : call_(events, tools, false), raw_(header) {
    call_.name(name);
  }
  bool feed(char c) {
    raw_ += c;
    const JsonScan::Event event = scan_.feed(c);
    if (event == JsonScan::Event::bad) return false;
    if (scan_.depth() == 0 && event != JsonScan::Event::close) return is_space(c);
    if (scan_.depth() == 1 && event == JsonScan::Event::open && c != '{') return false;
    call_.begin();
    call_.arguments({&c, 1});
    return true;
  }
  bool done() const { return scan_.done(); }
  void end() { call_.end(); }
  const std::string& give_up() {
    call_.drop();
    return raw_;
  }

 private:
  PartialCall call_;
  JsonScan scan_;
  std::string raw_;
};

// An incomplete call is content, unless the reply was truncated.
void end_call(Events& events, Body& body, bool truncated) {
  if (body.done()) return body.end();
  const std::string& raw = body.give_up();
  if (!truncated) events.add(Kind::content, raw);
}

// <|channel|>analysis<|message|>..<|end|><|start|>assistant<|channel|>commentary to=functions.f
// <|constrain|>json<|message|>{..}<|call|>, and at last <|channel|>final<|message|>..
class ChannelMachine final : public ReplyMachine {
 public:
  ChannelMachine(Tools offered, std::string_view prompt) : ReplyMachine(std::move(offered)) {
    if (trim(prompt).ends_with("<|start|>assistant")) state_ = State::begin;
  }

  void feed(char c) override {
    static const NoDestructor markers(std::vector<std::string_view>{
        "<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>"});
    const int found = finder_.feed(*markers, c, [this](char t) { text(t); });
    if (found >= 0) marker((*markers)[static_cast<std::size_t>(found)]);
  }

  void finish(bool truncated) override {
    const std::string held = finder_.take();
    if (!truncated || held.size() < kMinCutMarker)
      for (const char c : held) text(c);
    if (state_ == State::begin || state_ == State::header) {
      if (!truncated) events.add(Kind::content, header_);
      header_.clear();
    }
    end_message(truncated);
  }

 private:
  enum class State { begin, text, header, thoughts, call };

  void marker(std::string_view m) {
    if (m == "<|message|>" && (state_ == State::header || state_ == State::begin)) {
      header_ += m;
      return begin_message();
    }
    if (m == "<|channel|>" || m == "<|start|>") {
      if (state_ != State::header && state_ != State::begin) end_message();
      state_ = State::header;
      header_ += m;
      return;
    }
    if (m == "<|message|>") return;
    end_message();
  }

  void begin_message() {
    const std::string_view header = header_;
    const std::size_t at = header.find("to=");
    std::string_view name;
    if (at != std::string_view::npos) {
      name = header.substr(at + 3);
      name = name.substr(0, name.find_first_of(" <\n\t"));
      if (name.starts_with("functions.")) name.remove_prefix(10);
    }
    if (!name.empty()) {
      body_.emplace(events, tools, name, header_);
      state_ = State::call;
    } else {
      const bool thinks = header.find("<|channel|>analysis") != std::string_view::npos;
      state_ = thinks ? State::thoughts : State::text;
    }
    header_.clear();
  }

  void end_message(bool truncated = false) {
    if (body_) end_call(events, *body_, truncated);
    body_.reset();
    state_ = State::text;
  }

  void text(char c) {
    switch (state_) {
      case State::begin:
        // The rest of a header whose beginning is in the prompt, or no header at all.
        header_ += c;
        if (header_.size() > kMaxHeader ||
            !std::string_view(" to=").starts_with(std::string_view(header_).substr(0, 4))) {
          events.add(Kind::content, std::exchange(header_, {}));
          state_ = State::text;
        }
        break;
      case State::header:
        header_ += c;
        if (header_.size() > kMaxHeader) {
          events.add(Kind::content, std::exchange(header_, {}));
          state_ = State::text;
        }
        break;
      case State::text:
        events.add(Kind::content, {&c, 1});
        break;
      case State::thoughts:
        events.add(Kind::reasoning, {&c, 1});
        break;
      case State::call:
        if (!body_->feed(c)) {
          events.add(Kind::content, body_->give_up());
          body_.reset();
          state_ = State::text;
        }
        break;
    }
  }

  State state_ = State::text;
  MarkerFinder finder_;
  std::string header_;
  std::optional<Body> body_;
};

// all\ncontent>>>name\n{..}: after ">>>", which the prompt may end with.
class SectionMachine final : public ReplyMachine {
 public:
  SectionMachine(Tools offered, std::string_view prompt) : ReplyMachine(std::move(offered)) {
    if (trim(prompt).ends_with(">>>")) state_ = State::header;
  }

  void feed(char c) override {
    static const NoDestructor markers(std::vector<std::string_view>{">>>"});
    if (body_) return feed_body(c);
    const int found = finder_.feed(*markers, c, [this](char t) { text(t); });
    if (found < 0) return;
    if (state_ == State::header) events.add(Kind::content, std::exchange(header_, {}));
    state_ = State::header;
    header_ = ">>>";
  }

  void finish(bool truncated) override {
    for (const char c : finder_.take()) text(c);
    if (body_)
      end_body(truncated);
    else if (state_ == State::header && !truncated)
      events.add(Kind::content, header_);
    header_.clear();
  }

 private:
  enum class State { text, header };

  void feed_body(char c) {
    if (body_->done() && !is_space(c)) {
      end_body();
      return feed(c);
    }
    if (!body_->feed(c)) end_body();
  }

  void end_body(bool truncated = false) {
    end_call(events, *body_, truncated);
    body_.reset();
    state_ = State::text;
  }

  void text(char c) {
    if (state_ == State::text) return events.add(Kind::content, {&c, 1});
    if (c != '\n') {
      header_ += c;
      const std::string_view name = name_in(header_);
      if (std::ranges::any_of(name, is_space) || header_.size() > kMaxHeader) {
        events.add(Kind::content, std::exchange(header_, {}));
        state_ = State::text;
      }
      return;
    }
    const std::string_view name = name_in(header_);
    state_ = State::text;
    if (name == "all") {
      header_.clear();
    } else if (name.empty() || (tools.any() && !tools.known(name))) {
      events.add(Kind::content, std::exchange(header_, {}));
      events.add(Kind::content, "\n");
    } else {
      body_.emplace(events, tools, name, header_ + "\n");
      header_.clear();
    }
  }

  static std::string_view name_in(std::string_view header) {
    if (header.starts_with(">>>")) header.remove_prefix(3);
    return header;
  }

  State state_ = State::text;
  MarkerFinder finder_;
  std::string header_;
  std::optional<Body> body_;
};

}  // namespace

std::unique_ptr<ReplyMachine> make_channel_machine(Tools tools, std::string_view prompt) {
  return std::make_unique<ChannelMachine>(std::move(tools), prompt);
}
std::unique_ptr<ReplyMachine> make_section_machine(Tools tools, std::string_view prompt) {
  return std::make_unique<SectionMachine>(std::move(tools), prompt);
}

}  // namespace weft::reply
