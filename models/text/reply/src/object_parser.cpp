#include <algorithm>

#include "call_parser.h"

namespace weft::reply {
namespace {

constexpr std::size_t kMaxLiteral = 4096;  // bytes of a name, id or key

bool is_one_of(std::string_view key, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, key) != names.end();
}
bool is_name_key(std::string_view key) {
  return is_one_of(key, {"name", "tool_name"});
}
bool is_id_key(std::string_view key) {
  return is_one_of(key, {"id", "tool_call_id", "call_id"});
}
bool is_arguments_key(std::string_view key) {
  return is_one_of(key, {"arguments", "parameters", "args"});
}

}  // namespace

void Events::add(ReplyEvent::Kind kind, std::string_view text, int call, std::string id) {
  const bool delta = kind == ReplyEvent::Kind::content || kind == ReplyEvent::Kind::reasoning ||
                     kind == ReplyEvent::Kind::call_arguments;
  if (delta && text.empty()) return;
  if (delta && !events_.empty() && events_.back().kind == kind && events_.back().call == call)
    events_.back().text += text;
  else
    events_.push_back({kind, std::string(text), call, std::move(id)});
}

bool PartialCall::name(std::string_view name) {
  if (!name_.empty() || name.empty() || (only_known_ && tools_->any() && !tools_->known(name)))
    return false;
  name_ = name;
  if (wants_begin_) begin();
  return true;
}

void PartialCall::begin() {
  wants_begin_ = true;
  if (begun() || name_.empty()) return;
  index_ = events_->next_call++;
  events_->add(ReplyEvent::Kind::call_begin, name_, index_, id_);
  events_->add(ReplyEvent::Kind::call_arguments, std::exchange(waiting_, {}), index_);
}

void PartialCall::arguments(std::string_view delta) {
  if (begun())
    events_->add(ReplyEvent::Kind::call_arguments, delta, index_);
  else
    waiting_ += delta;
}

bool PartialCall::end() {
  if (!begun()) return false;
  events_->add(ReplyEvent::Kind::call_end, "", index_, id_);
  index_ = -1;
  return true;
}

void PartialCall::drop() {
  if (begun()) events_->add(ReplyEvent::Kind::call_dropped, "", index_);
  index_ = -1;
}

Step ObjectParser::feed(char c) {
  const bool was_string = scan_.in_string();
  const std::size_t depth = scan_.depth();
  const JsonScan::Event event = scan_.feed(c);
  if (event == JsonScan::Event::bad || (depth == 0 && scan_.depth() == 0 && !scan_.expects_value()))
    return Step::bad;
  if (arguments_depth_ > 0) {
    call_.arguments({&c, 1});
    if (event == JsonScan::Event::close && scan_.depth() == arguments_depth_) arguments_depth_ = 0;
    return Step::more;
  }
  if (scan_.in_string() || was_string) literal_ += c;
  if (literal_.size() > kMaxLiteral && !is_arguments_key(key_)) return Step::bad;
  switch (event) {
    case JsonScan::Event::open:
      return open(c == '{') ? Step::more : Step::bad;
    case JsonScan::Event::close:
      return close();
    case JsonScan::Event::key:
      key_ = decode_json_string(std::exchange(literal_, {}));
      return Step::more;
    case JsonScan::Event::string:
      return value(std::exchange(literal_, {})) ? Step::more : Step::bad;
    case JsonScan::Event::scalar:
      // A number is not valid as arguments; null and other scalars in other members are ignored.
      return !roles_.empty() && roles_.back() != Role::other && roles_.back() != Role::list &&
                     (is_name_key(key_) || (is_arguments_key(key_) && c != 'n'))
                 ? Step::bad
             : !roles_.empty() && roles_.back() == Role::list ? Step::bad
                                                              : Step::more;
    default:
      return Step::more;
  }
}

bool ObjectParser::open(bool object) {
  const Role around = roles_.empty() ? Role::list : roles_.back();
  Role role = Role::other;
  if (around == Role::list) {
    if (!object && !roles_.empty()) return false;
    role = object ? Role::call : Role::list;
    if (object) call_ = PartialCall(events_, tools_, bare_);
  } else if (around != Role::other) {
    if (keyed_ && !call_.name(key_)) return false;
    if (keyed_ || is_arguments_key(key_)) {
      if (!object) return false;
      arguments_depth_ = scan_.depth() - 1;
      call_.begin();
      call_.arguments("{");
      return true;
    }
    if (object && is_one_of(key_, {"function", "tool_call"})) role = Role::inner;
    if (!object && key_ == "tool_calls") role = Role::list;
  }
  roles_.push_back(role);
  key_.clear();
  return true;
}

Step ObjectParser::close() {
  const Role role = roles_.back();
  roles_.pop_back();
  key_.clear();
  if (role == Role::call) {
    const int before = calls_;
    if (!call_.begun() && !call_.called().empty() && !bare_) {
      call_.begin();
      call_.arguments("{}");
    }
    if (call_.end()) ++calls_;
    call_ = PartialCall(events_, tools_, bare_);
    if (calls_ == before && (calls_ == 0 || !roles_.empty())) return Step::bad;
  }
  if (!roles_.empty()) return Step::more;
  return calls_ > 0 ? Step::done : Step::bad;
}

bool ObjectParser::value(std::string_view literal) {
  const Role role = roles_.empty() ? Role::list : roles_.back();
  if (role == Role::other) return true;
  if (role == Role::list) return false;
  if (is_name_key(key_)) return call_.name(decode_json_string(literal));
  if (is_id_key(key_)) call_.id(decode_json_string(literal));
  if (!is_arguments_key(key_)) return true;
  // Arguments as text that holds JSON.
  const std::string text = decode_json_string(literal);
  const bool object = is_json(text) && text.find_first_not_of(" \t\r\n") == text.find('{');
  if (!object) return false;
  call_.begin();
  call_.arguments(text);
  return true;
}

}  // namespace weft::reply
