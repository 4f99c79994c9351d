#pragma once
// One connection: reads requests, passes them on one at a time, sends the answers. Used on the I/O
// thread only.
//
// While an answer is computed, a read is pending: after the end of the input, the client waits or
// has left (ClientProbe). What a client sends ahead is read up to a limit and parsed after the
// answer.

#include <cstdint>
#include <memory>
#include <string>

#include "answer_output.h"
#include "body_budget.h"
#include "body_pace.h"
#include "connections.h"
#include "deadline.h"
#include "input_buffer.h"
#include "request_logger.h"

namespace weft::http {

class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Service& service, std::unique_ptr<Transport> transport, std::string peer);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start();
  // No further requests: closes now if none is being received or answered.
  void drain();
  // Whether it is the client's turn: to send a request or the rest of one, or to read an answer.
  bool waits_for_client() const;
  // Closes at once. The client of an unfinished answer has left.
  void close();

  Connections::Place place;

  // Called by the transport at the end of an operation.
  void on_handshake(bool ok);
  void on_read(bool ok, std::size_t n);
  void on_written(bool ok);
  // The client has taken part of a write, has sent something, or has its turn from now on.
  void on_progress();

 private:
  enum class State { handshake, head, body, answer, linger, closed };

  // Reads and parses requests.
  void process();
  bool parse();
  void accept_head();
  void begin_request();
  void read_more();
  void watch_client();
  void on_input_end();
  void refuse(const Refusal& refusal);
  void on_deadline();

  // Sends answers.
  void begin_answer(std::shared_ptr<Answer> answer);
  void answer_at_once(RequestHead& head, Reply reply);
  void flush();
  void send();
  void sent();
  void finish_answer();
  void end_request();
  void linger();

  Service& service_;
  const std::unique_ptr<Transport> transport_;
  State state_ = State::handshake;
  Deadline deadline_;
  RequestLogger logger_;

  InputBuffer input_;
  bool reading_ = false, writing_ = false, input_ended_ = false;
  ClientProbe probe_;
  RequestReader reader_;
  bool head_begun_ = false;
  BodyBudget budget_;
  BodyPace pace_;
  std::uint64_t skip_ = 0;  // bytes of a refused request's body that still come
  AnswerOutput output_;
  Clock::time_point progress_ = Clock::now();  // when the client last did something
};

}  // namespace weft::http
