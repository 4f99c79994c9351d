#pragma once
// Answers in pieces: server-sent events and lines of JSON.

#include <memory>
#include <string>
#include <string_view>

#include "weft/api/endpoints.h"

namespace weft::api {

enum class StreamForm {
  events,  // text/event-stream: "data: ..\n\n"
  lines,   // application/x-ndjson
};

// `data`, JSON without line breaks, as it is sent; `event`: the name of the event; empty: none.
std::string piece_of(StreamForm form, std::string_view data, std::string_view event = {});

// Begins the answer with its first piece, so that an error before it is a status. While a stream of
// events is silent, comments are sent (ApiOptions::sse_ping_seconds); they begin the answer, too.
// Threads: one at a time, except for the pings, which it orders itself.
class EventStream {
 public:
  EventStream(std::shared_ptr<ApiCall> call, StreamForm form = StreamForm::events);
  ~EventStream();
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  // As piece_of(). Throws ApiError if the client has left too much unread: the number of unsent
  // bytes is limited.
  void send(std::string_view data, std::string_view event = {});
  // Before the first piece: the error as the whole answer. Later: as an event in the form of the
  // interface, which ends the stream.
  void fail(const ApiError& error);
  void end();
  bool begun() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

// Ends the stream with the error; if it is null, the error is the whole answer of the call.
void answer_error(const ApiCall& call, EventStream* stream, const ApiError& error);

}  // namespace weft::api
