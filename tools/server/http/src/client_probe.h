#pragma once
// Finds out whether a client that has closed its direction waits for its answer or has left. Used
// on the I/O thread only.

#include <chrono>
#include <string>

#include "answer_output.h"
#include "transport.h"

namespace weft::http {

class ClientProbe {
 public:
  // Only bytes that are sent show whether somebody reads: at most every second, this sends some
  // that clients skip. Returns false if the client has left, or if that cannot be found out.
  // REQUIRES: no write is pending.
  bool waits(Transport& transport, const AnswerOutput& output) {
    const std::string bytes = output.skipped_bytes();
    if (bytes.empty() || !transport.may_be_read()) return false;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return true;
    next_ = now + std::chrono::seconds(1);
    return transport.write_now({boost::asio::buffer(bytes)}) == bytes.size();
  }

 private:
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace weft::http
