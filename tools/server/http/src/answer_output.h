#pragma once
// The answer to the current request as bytes to send. Used on the I/O thread only.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "answer.h"
#include "probe_timer.h"
#include "request_reader.h"
#include "service.h"
#include "transport.h"

namespace weft::http {

class AnswerOutput {
 public:
  // `reader` is that of the requests, and knows what their clients understand.
  AnswerOutput(const Service& service, const RequestReader& reader)
      : service_(service), reader_(reader) {}

  void begin(std::shared_ptr<Answer> answer);
  // Null unless a request is being answered.
  Answer* answer() const { return answer_.get(); }
  // The answer is over: forgets it.
  void reset();

  // Makes bytes of what was written since the last call. Returns false if the answer has begun, but
  // nobody is left to complete it. REQUIRES: an answer.
  bool collect();
  // Bytes that can be sent now and that the client skips: an interim response before an answer, a
  // comment within a stream of events. Empty if there are none.
  std::string skipped_bytes() const;
  // Appends bytes that are not part of an answer.
  void add(std::string bytes);
  bool empty() const { return queued_.empty(); }
  // Returns the bytes that are there, which stay in memory until sent() is called.
  Buffers send();
  void sent();

  bool ended() const { return ended_; }  // collect() has seen the end
  int status() const { return status_; }
  std::size_t n_body_bytes() const { return n_body_bytes_; }
  // Whether the connection closes after this answer.
  bool closes() const { return closes_; }
  void close_after() { closes_ = true; }

 private:
  void add_reply(Reply reply, bool whole);
  void add_pieces(std::vector<std::string> pieces);

  const Service& service_;
  const RequestReader& reader_;
  std::shared_ptr<Answer> answer_;
  int status_ = 0;  // 0: not begun
  bool head_only_ = false, chunked_ = false, ended_ = false, closes_ = false;
  bool events_ = false;           // the body is a stream of events
  std::size_t n_body_bytes_ = 0;  // bytes of the answer's body so far
  std::vector<std::string> queued_, sending_;
  std::size_t queued_payload_ = 0, sending_payload_ = 0;  // bytes that count as unsent
};

// Finds out whether a client that has closed its direction waits for its answer or has left.
class ClientProbe {
 public:
  // Only bytes that are sent show whether somebody reads: now and then, this sends some that
  // clients skip. Returns false if it is known that the client has left. REQUIRES: no write is
  // pending.
  bool waits(Transport& transport, const AnswerOutput& output);

 private:
  ProbeTimer timer_;
};

}  // namespace weft::http
