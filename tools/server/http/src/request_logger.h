#pragma once
// Names the requests of a connection, and counts and logs each of them once.

#include <string>
#include <utility>

#include "weft/base/clock.h"

#include "service.h"

namespace weft::http {

class RequestLogger {
 public:
  RequestLogger(Service& service, std::string peer) : service_(service), peer_(std::move(peer)) {}

  // The first byte of a request has come, or can come.
  void start() { start_ = Clock::now(); }
  // The request is known: gives it an id, unless it has one.
  void name(RequestHead& head) {
    if (std::exchange(named_, true)) return;
    head.id = service_.new_request_id();
    head.peer = peer_;
    service_.on_request();
  }
  // The request ends. Returns false if it has no name, so that nothing is logged. The `status` of
  // an answer that was not begun is 0, because the client has left.
  bool end(const RequestHead& head, int status, std::size_t n_body_bytes) {
    if (!std::exchange(named_, false)) return false;
    service_.on_answered();
    if (service_.hooks.log)
      service_.hooks.log(head, status == 0 ? 499 : status, n_body_bytes, seconds_since(start_));
    return true;
  }

 private:
  Service& service_;
  const std::string peer_;
  bool named_ = false;
  Clock::time_point start_;
};

}  // namespace weft::http
