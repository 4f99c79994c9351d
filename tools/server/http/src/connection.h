#pragma once
// One connection: reads requests, passes them on one at a time, sends the answers. The classes that
// move the bytes derive from it (plain_connection.cpp, tls_connection.cpp). Used on the I/O thread
// only.
//
// While an answer is computed, a read is pending: the end of the input means that the client has
// left. What a client sends ahead is read up to a limit and parsed after the answer.

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>

#include "weft/base/clock.h"

#include "answer.h"
#include "input_buffer.h"
#include "reply_text.h"
#include "request_reader.h"
#include "service.h"

namespace weft::http {

using Buffers = std::vector<boost::asio::const_buffer>;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Service& service, std::string peer);
  virtual ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start();
  // No further requests: closes now if none is being received or answered.
  void drain();
  // Whether it waits for a request, or for the rest of a head.
  bool is_idle() const { return state_ == State::handshake || state_ == State::head; }
  // Closes at once. The client of an unfinished answer has left.
  void close();

  std::list<std::shared_ptr<Connection>>::iterator place;  // in the service's list

 protected:
  // Writes what can be written at once, and returns the number of bytes.
  virtual std::size_t write_now(const Buffers& buffers) = 0;
  // Each begins an operation and calls the function of the same name with "on_" when it is done.
  // Several reads or several writes are never pending at once.
  virtual void handshake() = 0;
  virtual void read(char* data, std::size_t n) = 0;
  virtual void write(const Buffers& buffers) = 0;
  // Tells the client that nothing more comes.
  virtual void shut_down() = 0;
  virtual void close_socket() = 0;
  // Whether it has closed its direction, for times when no read is pending.
  virtual bool client_has_left() = 0;

  void on_handshake(bool ok);
  void on_read(bool ok, std::size_t n);
  void on_written(bool ok);
  // Part of a write was taken by the client.
  void on_progress();

 private:
  enum class State { handshake, head, body, answer, linger, closed };

  // Reads and parses requests. connection.cpp
  void process();
  bool parse();
  bool parse_head();
  bool parse_body();
  void accept_head();
  void begin_request();
  void name_request(RequestHead& head);
  void remove_prefix(RequestHead& head);
  void skip_body();
  void count_body(std::size_t n_bytes);
  void release_body();
  void read_more();
  void watch_client();
  void on_input_end();
  void refuse(const Refusal& refusal);

  // Deadlines. connection.cpp
  void set_deadline(Clock::time_point deadline);
  void set_timeout() { set_deadline(Clock::now() + service_.options.timeout); }
  void clear_deadline() { deadline_ = Clock::time_point::max(); }
  void start_timer();
  void on_deadline();

  // Sends answers. connection_answer.cpp
  void answer_at_once(Reply reply);
  void flush();
  void send_answer();
  bool queue_batch(Answer::Batch batch);
  void queue_reply(Reply reply, bool whole);
  void queue_pieces(std::vector<std::string> pieces);
  void queue(std::string bytes);
  void send();
  void sent();
  void finish_answer();
  void end_request();
  void linger();
  const RequestHead& head() const { return answer_ ? answer_->request() : head_; }

  Service& service_;
  const std::string peer_;
  State state_ = State::handshake;
  InputBuffer input_;
  bool reading_ = false, writing_ = false, input_ended_ = false;
  RequestReader reader_;
  std::size_t counted_body_ = 0;
  std::uint64_t skip_ = 0;  // bytes of a refused request's body that still come

  // The current request and its answer.
  RequestHead head_;                // if the server answers by itself
  std::shared_ptr<Answer> answer_;  // otherwise
  Clock::time_point request_start_;
  int status_ = 0;  // of the answer; 0: not begun
  bool named_ = false, head_only_ = false, chunked_ = false, ended_ = false, close_after_ = false;
  std::size_t n_body_bytes_ = 0;  // of the answer so far
  std::vector<std::string> queued_, sending_;
  std::size_t queued_payload_ = 0, sending_payload_ = 0;  // bytes that count as unsent

  boost::asio::steady_timer timer_;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point timer_at_ = Clock::time_point::max();  // when it fires
};

}  // namespace weft::http
