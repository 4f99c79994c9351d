#include "head_check.h"

#include <string>

#include <doctest/doctest.h>

#include "refused_error.h"

using namespace weft::http;

namespace {

constexpr HeadLimits kHeadLimits{100, 400, 5};

// The status with which the head is refused; 0 if it is not.
int refused(std::string_view head) {
  try {
    HeadScanner scanner(kHeadLimits);
    const std::size_t n = scanner.scan(head);
    CHECK(n == head.size());
    check_head(head.substr(0, n));
    return 0;
  } catch (const RefusedError& e) {
    return e.refusal().status;
  }
}

int refused_field(std::string_view field) {
  return refused("POST / HTTP/1.1\r\nHost: x\r\n" + std::string(field) + "\r\n\r\n");
}

}  // namespace

TEST_CASE("a head is found regardless of the pieces in which it comes") {
  const std::string head = "GET / HTTP/1.1\r\nHost: x\r\nA: b\tc\r\n\r\n";
  for (std::size_t step = 1; step <= head.size(); ++step) {
    HeadScanner scanner(kHeadLimits);
    std::size_t n = 0;
    for (std::size_t end = step; n == 0; end += step)
      n = scanner.scan(std::string_view(head + "more").substr(0, end));
    CHECK(n == head.size());
  }
}

TEST_CASE("forbidden bytes in a head are refused before it is complete") {
  for (const char c : {'\0', '\x01', '\n', '\x7f', '\x1b'}) {
    HeadScanner in_line(kHeadLimits), in_field(kHeadLimits);
    CHECK_THROWS_AS(in_line.scan(std::string("GET /") + c), RefusedError);
    CHECK_THROWS_AS(in_field.scan(std::string("GET / HTTP/1.1\r\nA: ") + c), RefusedError);
  }
  CHECK_THROWS_AS(HeadScanner(kHeadLimits).scan("GET / HTTP/1.1\rA"), RefusedError);
  CHECK_THROWS_AS(HeadScanner(kHeadLimits).scan("GET /\t HTTP/1.1"), RefusedError);
  CHECK_THROWS_AS(HeadScanner(kHeadLimits).scan("\x16\x03\x01"), RefusedError);  // TLS
}

TEST_CASE("limits of a head") {
  const std::string line(100 - 15, 'a');
  CHECK(refused("GET /" + line + " HTTP/1.1\r\nHost: x\r\n\r\n") == 414);
  CHECK(refused("GET /" + std::string(79, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n") == 0);
  CHECK_THROWS_AS(HeadScanner(kHeadLimits).scan(std::string(101, 'a')), RefusedError);
  const auto head = [](int n_fields, int size) {
    std::string text = "GET / HTTP/1.1\r\nHost: x\r\n";
    for (int i = 0; i < n_fields; ++i)
      text += "A: " + std::string(static_cast<std::size_t>(size), 'b') + "\r\n";
    return text + "\r\n";
  };
  CHECK(refused(head(4, 1)) == 0);
  CHECK(refused(head(5, 1)) == 431);
  CHECK(refused(head(1, 400 - 25 - 7)) == 0);
  CHECK(refused(head(1, 400 - 25 - 6)) == 431);
  CHECK_THROWS_AS(HeadScanner(kHeadLimits).scan("GET / HTTP/1.1\r\nA: " + std::string(400, 'b')),
                  RefusedError);
}

TEST_CASE("request lines that are refused") {
  const auto line = [](std::string_view text) {
    return refused(std::string(text) + "\r\nHost: x\r\n\r\n");
  };
  CHECK(line("GET / HTTP/1.1") == 0);
  CHECK(line("BREW /a?b=c HTTP/1.0") == 0);
  for (const char* bad :
       {"hello", "GET /", "GET  / HTTP/1.1", "GET / a HTTP/1.1", "G:T / HTTP/1.1",
        " GET / HTTP/1.1", "GET / HTTP/1.1 ", "GET / http/1.1", "GET / HTTP/11", "/ HTTP/1.1"}) {
    CAPTURE(bad);
    CHECK(line(bad) == 400);
  }
  CHECK(line("PRI * HTTP/2.0") == 505);
  CHECK(line("GET / HTTP/1.2") == 505);
}

TEST_CASE("header fields that are refused") {
  CHECK(refused_field("A: b") == 0);
  CHECK(refused_field("A:") == 0);
  CHECK(refused_field("Transfer-Encoding: Chunked") == 0);
  CHECK(refused_field("Content-Length: 0") == 0);
  for (const char* bad : {"A : b",
                          "A",
                          ": b",
                          "A b: c",
                          " A: b",
                          "A: b\r\n c",
                          "A: b\r\n\tc",
                          "A\xc3: b",
                          "A(: b",
                          "Content-Length: -1",
                          "Content-Length: +2",
                          "Content-Length: 0x2",
                          "Content-Length: 1 2",
                          "Content-Length:",
                          "Content-Length: 5, 5",
                          "Content-Length: 5\r\nContent-Length: 5",
                          "Content-Length: 5\r\ncontent-length: 6",
                          "Transfer-Encoding: cow",
                          "Transfer-Encoding: gzip, chunked",
                          "Transfer-Encoding: chunked, chunked",
                          "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
                          "Transfer-Encoding:",
                          "Transfer-Encoding: identity\r\nContent-Length: 5",
                          "Transfer-Encoding: \"chunked\"",
                          "Content-Length: 4\r\nTransfer-Encoding: chunked",
                          "Transfer-Encoding: chunked\r\nContent-Length: 4",
                          "Host: y",
                          "Content-Length: 1e3",
                          "Transfer-Encoding: xchunked"}) {
    CAPTURE(bad);
    CHECK(refused_field(bad) == 400);
  }
  CHECK(refused_field("Content-Length: 99999999999999999999999") == 413);
  CHECK(refused("GET / HTTP/1.1\r\n\r\n") == 400);
  CHECK(refused("GET / HTTP/1.0\r\n\r\n") == 0);
  CHECK(refused("GET / HTTP/1.1\r\nHost: a b\r\n\r\n") == 400);
  CHECK(refused("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n") == 400);
  CHECK(refused("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n") == 0);
  CHECK(refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n") == 400);
}

TEST_CASE("how the body is delimited") {
  const auto framing = [](std::string_view field) {
    return check_head("POST / HTTP/1.1\r\nHost: x\r\n" + std::string(field) + "\r\n\r\n");
  };
  CHECK(framing("A: b").length == std::nullopt);
  CHECK(framing("content-LENGTH:  0042 ").length == 42);
  CHECK(framing("Transfer-Encoding: chunked").chunked);
}
