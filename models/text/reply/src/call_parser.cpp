#include "call_parser.h"

#include <algorithm>

#include "weft/base/json_string.h"
#include "weft/base/text.h"

#include "python_literal.h"

namespace weft::reply {
namespace {

constexpr std::size_t kMaxName = 256;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == ':' || c == '/';
}

}  // namespace

CallParser::CallParser(const CallRow& row, Events& events, const Tools& tools, CallStart start,
                       std::string_view opening)
    : row_(row),
      events_(events),
      tools_(tools),
      bare_(start == CallStart::bare),
      unwrapped_(start == CallStart::unwrapped),
      raw_(opening) {
  enter(row.section_open.empty() || start != CallStart::marked ? Phase::name : Phase::section);
}

// Enters the next phase after skipping white space.
Step CallParser::enter(Phase phase) {
  matched_ = 0;
  text_.clear();
  phase_ = phase;
  const bool whole = row_.style == CallStyle::object || row_.style == CallStyle::bare;
  if (phase_ == Phase::name) {
    // Here, a text that begins a call elsewhere may be anything, unless a name follows.
    call_.emplace(events_, tools_, unwrapped_ && calls_ == 0);
    parameters_ = 0;
    if (row_.style == CallStyle::python) phase_ = Phase::python;
    if (whole) phase_ = row_.after_name.empty() ? Phase::json : Phase::after_name;
  }
  if (phase_ == Phase::after_name && row_.after_name.empty())
    return enter(row_.style == CallStyle::tagged   ? Phase::parameters
                 : row_.style == CallStyle::braced ? Phase::braced
                                                   : Phase::arguments);
  if (phase_ == Phase::json) object_.emplace(events_, tools_, bare_, row_.keyed);
  if (phase_ == Phase::braced) braced_.emplace(row_.quote, tools_, call_->called());
  if (phase_ == Phase::arguments) scan_ = JsonScan();
  if (phase_ == Phase::parameters && parameters_ == 0) call_->begin();
  if (phase_ == Phase::value_open && row_.value_open.empty()) return enter(Phase::value);
  if (phase_ == Phase::close && (row_.close.empty() || bare_)) return complete();
  return Step::more;
}

// A call is complete. In a section more may follow.
Step CallParser::complete() {
  if (!object_ && !call_->end()) return Step::bad;
  object_.reset();
  ++calls_;
  if (row_.section_open.empty() || bare_) return Step::done;
  raw_.clear();
  return enter(Phase::section);
}

Step CallParser::feed(char c) {
  raw_ += c;
  const Step step = advance(c);
  if (step == Step::bad) raw_.pop_back();
  return step;
}

// Whether white space is part of the text that is read.
bool CallParser::keeps_space() const {
  constexpr Phase kPhases[] = {Phase::value,     Phase::key,    Phase::attribute, Phase::json,
                               Phase::arguments, Phase::braced, Phase::python};
  return std::ranges::find(kPhases, phase_) != std::end(kPhases) || matched_ > 0 || !text_.empty();
}

Step CallParser::advance(char c) {
  if (is_space(c) && !keeps_space()) return Step::more;
  switch (phase_) {
    case Phase::section:
      return calls_ == 0 ? literal(row_.open, c, Phase::name)
                         : choice(row_.open, Phase::name, row_.section_close, Phase::open, c);
    case Phase::name:
      return name(c);
    case Phase::after_name:
      return after_name(c);
    case Phase::id:
      return id(c);
    case Phase::arguments:
      return arguments(c);
    case Phase::json:
      return json(c);
    case Phase::braced:
      return braced(c);
    case Phase::python:
      return python(c);
    case Phase::parameters:
      return parameters(c);
    case Phase::key:
      return text_up_to(row_.after_key, c, key_,
                        row_.after_key.ends_with("=\"") ? Phase::attribute : Phase::value_open);
    case Phase::attribute:
      return text_up_to(row_.value_open, c, attribute_, Phase::value);
    case Phase::value_open:
      return literal(row_.value_open, c, Phase::value);
    case Phase::value:
      return value(c);
    case Phase::close:
      // Some models close their objects once more.
      return c == '}' && matched_ == 0 ? Step::more : literal(row_.close, c, Phase::close);
    case Phase::open:  // the end of a section, after choice()
      break;
  }
  return Step::more;
}

// Consumes a byte of a text that must come now.
Step CallParser::literal(std::string_view text, char c, Phase next) {
  if (text[matched_] != c) return Step::bad;
  if (++matched_ < text.size()) return Step::more;
  if (phase_ == Phase::close) {
    matched_ = 0;
    return complete();
  }
  return enter(next);
}

Step CallParser::choice(std::string_view a, Phase then_a, std::string_view b, Phase then_b,
                        char c) {
  text_ += c;
  const auto fits = [&](std::string_view text) { return text.starts_with(text_); };
  if (!fits(a) && !fits(b)) {
    matched_ = text_.size() - 1;
    return Step::bad;
  }
  if (text_ != a && text_ != b) {
    matched_ = text_.size();
    return Step::more;
  }
  const Phase next = text_ == a ? then_a : then_b;
  if (phase_ == Phase::section && next == Phase::open) return Step::done;
  if (next == Phase::close) {
    matched_ = 0;
    text_.clear();
    phase_ = Phase::close;
    return Step::more;
  }
  return enter(next);
}

Step CallParser::name(char c) {
  if (is_name_char(c) && text_.size() < kMaxName) {
    text_ += c;
    return Step::more;
  }
  std::string_view name = text_;
  if (!row_.name_prefix.empty()) {
    call_->id(name);
    if (name.starts_with(row_.name_prefix)) name.remove_prefix(row_.name_prefix.size());
    name = name.substr(0, name.find(':'));
  }
  if (!call_->name(name)) return Step::bad;
  enter(Phase::after_name);
  return is_space(c) ? Step::more : advance(c);
}

Step CallParser::after_name(char c) {
  const Phase next = row_.style == CallStyle::object   ? Phase::json
                     : row_.style == CallStyle::tagged ? Phase::parameters
                                                       : Phase::arguments;
  return row_.before_id.empty() ? literal(row_.after_name, c, next)
                                : choice(row_.after_name, next, row_.before_id, Phase::id, c);
}

Step CallParser::id(char c) {
  if (is_name_char(c) && text_.size() < kMaxName) {
    text_ += c;
    return Step::more;
  }
  call_->id(text_);
  enter(Phase::after_name);
  return advance(c);
}

Step CallParser::parameters(char c) {
  const Step step = choice(row_.parameter, Phase::key, row_.close, Phase::close, c);
  if (step != Step::more || phase_ != Phase::close) return step;
  call_->arguments(parameters_ == 0 ? "{}" : "}");
  return complete();
}

// Short texts of the call, and the mark after them.
Step CallParser::text_up_to(std::string_view end, char c, std::string& out, Phase next) {
  text_ += c;
  if (!text_.ends_with(end)) return text_.size() > kMaxName ? Step::bad : Step::more;
  out = text_.substr(0, text_.size() - end.size());
  return enter(next);
}

Step CallParser::arguments(char c) {
  const JsonScan::Event event = scan_.feed(c);
  if (event == JsonScan::Event::bad || (scan_.depth() == 0 && event != JsonScan::Event::close &&
                                        !(is_space(c) && scan_.expects_value())))
    return Step::bad;
  if (scan_.depth() == 0 && event != JsonScan::Event::close) return Step::more;
  if (event == JsonScan::Event::open && scan_.depth() == 1 && c != '{') return Step::bad;
  call_->begin();
  call_->arguments({&c, 1});
  return scan_.done() ? enter(Phase::close) : Step::more;
}

Step CallParser::braced(char c) {
  const Step step = braced_->feed(c);
  call_->begin();
  call_->arguments(braced_->take());
  return step == Step::done ? enter(Phase::close) : step;
}

Step CallParser::python(char c) {
  text_ += c;
  if (!text_.ends_with(row_.close)) return Step::more;
  return end_python(std::string_view(text_).substr(0, text_.size() - row_.close.size()));
}

// Some models write the calls as JSON instead. The text after the last complete call stays in raw_.
// REQUIRES: the text is in raw_.
Step CallParser::end_python(std::string_view text) {
  if (const auto calls = python_calls(text)) {
    for (const PythonCall& one : *calls) {
      call_.emplace(events_, tools_, false);
      if (!call_->name(one.name)) return Step::bad;
      call_->begin();
      call_->arguments(one.arguments);
      call_->end();
    }
    return Step::done;
  }
  object_.emplace(events_, tools_, false, row_.keyed);
  const std::string_view json = trim(text);
  Step step = json.empty() ? Step::bad : Step::more;
  const std::size_t after = raw_.size() - (raw_.rfind(json) + json.size());
  for (std::size_t i = 0; i < json.size() && step != Step::bad; ++i) {
    const int before = object_->calls();
    step = object_->feed(json[i]);
    if (object_->calls() == before) continue;
    raw_.erase(0, raw_.size() - (json.size() - i - 1 + after));
  }
  return step == Step::done ? step : Step::bad;
}

Step CallParser::json(char c) {
  const int before = object_->calls();
  const Step step = object_->feed(c);
  if (object_->calls() > before) raw_.clear();
  return step == Step::done ? enter(Phase::close) : step;
}

Step CallParser::value(char c) {
  text_ += c;
  if (!text_.ends_with(row_.value_close)) return Step::more;
  std::string_view value =
      std::string_view(text_).substr(0, text_.size() - row_.value_close.size());
  if (value.starts_with('\n')) value.remove_prefix(1);
  if (value.ends_with('\n')) value.remove_suffix(1);
  add_parameter(value);
  ++parameters_;
  attribute_.clear();
  return enter(Phase::parameters);
}

void CallParser::add_parameter(std::string_view text) {
  const JsonTypes types = attribute_ == "true" ? kText : tools_.types_of(call_->called(), key_);
  call_->arguments(parameters_ == 0 ? "{" : ", ");
  call_->arguments(json_string(key_));
  call_->arguments(": ");
  call_->arguments(attribute_ == "false" && is_json(text) ? std::string(text)
                                                          : typed_value(text, types));
}

Step CallParser::finish() {
  const bool may_end = row_.close_optional && phase_ == Phase::close && matched_ == 0;
  if (may_end && complete() == Step::done) return Step::done;
  if (phase_ == Phase::python && row_.close_optional) return end_python(text_);
  if (phase_ == Phase::section && calls_ > 0 && matched_ == 0) return Step::done;
  return Step::bad;
}

bool CallParser::is_certain() const {
  if (!bare_ && !unwrapped_) return true;
  return calls_ > 0 || (object_ && (object_->calls() > 0 || object_->is_named())) ||
         (call_ && !call_->called().empty());
}

void CallParser::drop() {
  if (object_) object_->drop();
  if (call_) call_->drop();
}

}  // namespace weft::reply
