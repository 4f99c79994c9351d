#pragma once
// Makes requests of bytes. Beast parses heads that head_check.h has checked, and bodies are limited
// and unpacked here. Knows nothing of sockets.
//
//   RequestReader reader(limits);
//   input.consume(reader.read_head(input));   // until reader.head_complete()
//   input.consume(reader.read_body(input));   // until reader.complete()
//
// All functions throw RefusedError for errors in the request. The end of a refused request is
// unknown, so the connection must be closed.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weft/http/exchange.h"

#include "head_check.h"

namespace weft::http {

struct ReaderLimits {
  HeadLimits head;
  std::size_t body_bytes;
};

class RequestReader {
 public:
  explicit RequestReader(const ReaderLimits& limits);
  ~RequestReader();
  RequestReader(RequestReader&&) noexcept;
  RequestReader& operator=(RequestReader&&) noexcept;

  // `input`: the bytes that are not yet consumed. Returns how many of them were; more input is
  // needed if it is 0 and the head is incomplete.
  std::size_t read_head(std::string_view input);
  bool head_complete() const;
  // The parts of the head that are known: an incomplete one has method and target if its request
  // line is complete.
  RequestHead& head();
  bool http_1_1() const;
  bool keep_alive() const;  // as the client wants it
  bool expects_continue() const;
  // Bytes of the body that follow; none if they are not known in advance.
  std::optional<std::uint64_t> body_length() const;

  // Checks the head's fields about the body: its length, its encoding. Before read_body().
  void begin_body();
  std::size_t read_body(std::string_view input);
  std::size_t body_bytes() const;  // received and unpacked so far
  bool complete() const;           // the whole request
  std::string take_body();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::http
