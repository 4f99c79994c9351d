#include "weft/base/random_id.h"
#include "weft/chat/reply_reader.h"
#include "weft/chat/reply_sink.h"
#include "weft/serve/generation.h"
#include "weft/serve/transcript.h"

#include "border/arguments.h"
#include "border/call.h"
#include "text/chat_objects.h"

namespace weft::c_api {
namespace {

static_assert(static_cast<int>(ReplyEvent::Kind::content) == WEFT_REPLY_CONTENT);
static_assert(static_cast<int>(ReplyEvent::Kind::reasoning) == WEFT_REPLY_REASONING);
static_assert(static_cast<int>(ReplyEvent::Kind::call_begin) == WEFT_REPLY_CALL_BEGIN);
static_assert(static_cast<int>(ReplyEvent::Kind::call_arguments) == WEFT_REPLY_CALL_ARGUMENTS);
static_assert(static_cast<int>(ReplyEvent::Kind::call_end) == WEFT_REPLY_CALL_END);
static_assert(static_cast<int>(ReplyEvent::Kind::call_dropped) == WEFT_REPLY_CALL_DROPPED);

constexpr int kIdDigits = 24, kShortIdDigits = 9;

// With ids that no other reply has, so that calls of several can be in one conversation.
ReplyReading with_random_ids(ReplyReading reading) {
  reading.new_id = [is_short = reading.short_ids] {
    return is_short ? random_id("", kShortIdDigits) : random_id("call_", kIdDigits);
  };
  return reading;
}

struct ReplyObject : Object {
  static constexpr Kind kKind = Kind::reply;
  explicit ReplyObject(const ChatPlan& plan)
      : Object(kKind), reader(with_random_ids(plan.reading)) {}
  ReplyObject& inner() { return *this; }

  Gate gate{"reply", Gate::Threads::none};
  ReplyReader reader;
  MessageBuilder message;
  bool finished = false;
};

using UsedReply = Used<ReplyObject>;

void check_open(const UsedReply& reply) {
  if (reply->finished) fail<ValueError>("the reply has ended (weft_reply_finish)");
}

// The message has all events, even if a callback throws.
void take_all(const UsedReply& reply, const std::vector<ReplyEvent>& events, weft_on_reply on_reply,
              void* user) {
  reply->message.take(events);
  for (const ReplyEvent& event : events) {
    if (!pass_on(event, on_reply, user)) fail<CancelledError>("the callback ended the call");
  }
}

void finish(weft_reply* reply, bool truncated, weft_on_reply on_reply, void* user) {
  const UsedReply r(reply);
  check_open(r);
  r->finished = true;
  take_all(r, r->reader.finish(truncated), on_reply, user);
}

}  // namespace

bool pass_on(const ReplyEvent& event, weft_on_reply on_reply, void* user) {
  if (!on_reply) return true;
  const weft_reply_event shown{.struct_size = sizeof(weft_reply_event),
                               .kind = static_cast<std::int32_t>(event.kind),
                               .call = event.call,
                               .text = event.text.c_str(),
                               .text_size = event.text.size(),
                               .id = event.id.c_str()};
  return callback([&] { return on_reply(user, &shown); }) == 0;
}

}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_reply_open(weft_chat_plan* plan, weft_reply** reply, weft_error** error) {
  return call(error, [&] {
    required(reply, "reply");
    *reply = handle_of<weft_reply>(std::make_shared<ReplyObject>(pin<ChatPlanObject>(plan)->plan));
  });
}

weft_status weft_reply_push(weft_reply* reply, const char* data, size_t size,
                            weft_on_reply on_reply, void* user, weft_error** error) {
  return call(error, [&] {
    const UsedReply r(reply);
    const std::string_view piece = text(data, size, "text");
    check_open(r);
    take_all(r, r->reader.push(piece), on_reply, user);
  });
}

weft_status weft_reply_finish(weft_reply* reply, weft_on_reply on_reply, void* user,
                              weft_error** error) {
  return call(error, [&] { finish(reply, false, on_reply, user); });
}

weft_status weft_reply_end(weft_reply* reply, int32_t stop, weft_on_reply on_reply, void* user,
                           weft_error** error) {
  return call(error, [&] {
    if (stop < WEFT_STOP_NONE || stop > WEFT_STOP_CANCELLED)
      fail<ValueError>("stop must be from {} to {}, got {}", static_cast<int>(WEFT_STOP_NONE),
                       static_cast<int>(WEFT_STOP_CANCELLED), stop);
    const bool truncated = stop == WEFT_STOP_NONE || is_truncated(static_cast<StopReason>(stop));
    finish(reply, truncated, on_reply, user);
  });
}

weft_status weft_reply_message_json(weft_reply* reply, weft_text* json, weft_error** error) {
  return call(error, [&] {
    const UsedReply r(reply);
    required(json, "json");
    write_text(json, to_json(r->message.whole_message()));
  });
}

weft_status weft_reply_free(weft_reply* reply) {
  return free_handle<ReplyObject>(reply);
}
