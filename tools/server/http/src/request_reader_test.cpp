#include "request_reader.h"

#include <string>

#include <doctest/doctest.h>
#include <zlib.h>

#include "weft/http/media.h"

#include "refused_error.h"
#include "target.h"

using namespace weft::http;

namespace {

constexpr ReaderLimits kReaderLimits{{1000, 4000, 50}, 1000};

struct Outcome {
  int refused = 0;
  RequestHead head;
  std::string body;
  std::size_t n_left = 0;  // bytes behind the request
};

// Reads `bytes`. Each time, `step` more of them become visible.
Outcome read(const std::string& bytes, std::size_t step = 1 << 20,
             ReaderLimits limits = kReaderLimits) {
  RequestReader reader(limits);
  Outcome outcome;
  std::size_t at = 0, end = 0;
  bool begun = false;
  try {
    while (!reader.complete()) {
      const std::string_view input = std::string_view(bytes).substr(at, end - at);
      const bool in_head = !reader.head_complete();
      if (!in_head && !std::exchange(begun, true)) reader.begin_body();
      const std::size_t n = in_head ? reader.read_head(input) : reader.read_body(input);
      at += n;
      if (n > 0) continue;
      if (end >= bytes.size()) return {.refused = -1};
      end = std::min(end + step, bytes.size());
    }
    if (!begun) reader.begin_body();
    outcome.body = reader.take_body();
  } catch (const RefusedError& e) {
    outcome.refused = e.refusal().status;
  }
  outcome.head = reader.head();
  outcome.n_left = bytes.size() - at;
  return outcome;
}

std::string post(std::string_view fields, std::string_view body) {
  return "POST /a HTTP/1.1\r\nHost: x\r\n" + std::string(fields) + "\r\n" + std::string(body);
}

std::string chunked(std::string_view chunks) {
  return post("Transfer-Encoding: chunked\r\n", chunks);
}

std::string gzip(const std::string& text) {
  z_stream z = {};
  deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, text.size()) + 32, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

Outcome read_gzip(const std::string& packed, std::size_t step = 1 << 20) {
  return read(
      post("Content-Encoding: gzip\r\nContent-Length: " + std::to_string(packed.size()) + "\r\n",
           packed),
      step);
}

Outcome read_gzip_in_chunks(const std::string& packed) {
  std::string chunks;
  for (std::size_t at = 0; at < packed.size(); at += 10) {
    const std::string chunk = packed.substr(at, 10);
    chunks += std::string(1, "0123456789a"[chunk.size()]) + "\r\n" + chunk + "\r\n";
  }
  return read(
      post("Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", chunks + "0\r\n\r\n"));
}

}  // namespace

TEST_CASE("requests in pieces of any size") {
  const std::string length = post("Content-Length: 5\r\n", "helloNEXT");
  const std::string chunks =
      chunked("2;name=value\r\nhe\r\n03;a=\"b;c\"\r\nllo\r\n0;x\r\nA: b\r\nC: d\r\n\r\nNEXT");
  for (const std::string& bytes : {length, chunks})
    for (std::size_t step = 1; step <= bytes.size(); ++step) {
      const Outcome o = read(bytes, step);
      CAPTURE(step);
      CHECK(o.refused == 0);
      CHECK(o.body == "hello");
      CHECK(o.head.headers.size() == 2);  // without trailers
      CHECK(o.n_left <= 4);
    }
  for (std::size_t step = 1; step <= 5; ++step) {
    const Outcome o = read(chunked("0\r\n\r\n"), step);
    CHECK((o.refused == 0 && o.body.empty()));
  }
  CHECK(read("\r\n\r\n" + length).body == "hello");
  CHECK(read("\r\n\r\n\r\n\r\n\r\n" + length).refused == 400);
}

TEST_CASE("chunks that are refused") {
  for (const char* bad :
       {"zz\r\n{}\r\n0\r\n\r\n", "-1\r\n\r\n", "+2\r\nab\r\n0\r\n\r\n", "0x2\r\nab\r\n0\r\n\r\n",
        "2\r\nabc\r\n0\r\n\r\n", "2\nab\r\n0\r\n\r\n", "2\r\nab0\r\n\r\n",
        "\r\n2\r\nab\r\n0\r\n\r\n", " 2\r\nab\r\n0\r\n\r\n", "ffffffffffffffff1\r\n{}",
        "2\rab\r\n0\r\n\r\n", "2;\n=b\r\nab\r\n0\r\n\r\n", "2;\x01\r\nab\r\n0\r\n\r\n",
        "0\r\nbad trailer\r\n\r\n", "0\r\nContent-Length: 5\r\n\r\n",
        "0\r\nTransfer-Encoding: chunked\r\n\r\n", "2_0\r\nab\r\n0\r\n\r\n"}) {
    CAPTURE(bad);
    CHECK(read(chunked(bad)).refused == 400);
    CHECK(read(chunked(bad), 1).refused == 400);
  }
  CHECK(read(chunked("2;" + std::string(40000, 'a'))).refused == 400);
  CHECK(read(chunked("0\r\nA: " + std::string(40000, 'a'))).refused == 400);
}

TEST_CASE("limits of bodies") {
  CHECK(read(post("Content-Length: 1000\r\n", std::string(1000, 'a'))).refused == 0);
  CHECK(read(post("Content-Length: 1001\r\n", "")).refused == 413);  // before anything is read
  CHECK(read(chunked("3e8\r\n" + std::string(1000, 'a') + "\r\n0\r\n\r\n")).refused == 0);
  CHECK(read(chunked("3e9\r\n" + std::string(1001, 'a') + "\r\n0\r\n\r\n")).refused == 413);
  CHECK(read(chunked("ffffffffffffffff\r\n" + std::string(1001, 'a'))).refused == 413);
  CHECK(read(post("Content-Length: 5\r\n", "hell")).refused == -1);
}

TEST_CASE("gzip bodies") {
  const std::string text = "hello hello hello hello";
  const std::string packed = gzip(text);
  for (std::size_t step = 1; step <= packed.size(); ++step)
    CHECK(read_gzip(packed, step).body == text);
  CHECK(read_gzip(packed + gzip("!")).body == text + "!");
  CHECK(read_gzip(gzip("")).body.empty());
  CHECK(read_gzip(gzip(std::string(1000, 'a'))).body.size() == 1000);
  CHECK(read_gzip(gzip(std::string(1001, 'a'))).refused == 413);
  CHECK(read_gzip(gzip(std::string(1 << 20, 'a')).substr(0, 900)).refused == 413);  // a bomb
  CHECK(read_gzip_in_chunks(packed).body == text);
  std::string empty_members;
  while (empty_members.size() <= 1000) empty_members += gzip("");
  CHECK(read_gzip_in_chunks(empty_members).refused == 413);
  CHECK(read_gzip(packed.substr(0, packed.size() - 1)).refused == 400);
  CHECK(read_gzip("not gzip").refused == 400);
  CHECK(read_gzip("").refused == 400);
  std::string damaged = packed;
  damaged[damaged.size() - 5] ^= 1;  // the checksum
  CHECK(read_gzip(damaged).refused == 400);
  CHECK(read(post("Content-Encoding: br\r\n", "")).refused == 415);
  CHECK(read(post("Content-Encoding: identity\r\nContent-Length: 2\r\n", "ab")).body == "ab");
  CHECK(read(post("Expect: more\r\n", "")).refused == 417);
}

TEST_CASE("the known parts of a refused head") {
  const Outcome o = read("POST /v1/messages HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n");
  CHECK(o.refused == 400);
  CHECK(o.head.method == "POST");
  CHECK(o.head.path == "/v1/messages");
}

TEST_CASE("the head of a request") {
  const Outcome o =
      read("PUT http://me:80/a%20b/%C3%A4?q=%20&r HTTP/1.1\r\nHost: you\r\nA:  b \r\n\r\n");
  CHECK(o.head.method == "PUT");
  CHECK(o.head.path == "/a b/\xc3\xa4");
  CHECK(o.head.query == "q=%20&r");
  CHECK(find_header(o.head.headers, "host") == "me:80");  // that of the target counts
  CHECK(find_header(o.head.headers, "a") == "b");
  CHECK(find_header(o.head.headers, "b").empty());
}

TEST_CASE("targets") {
  CHECK(parse_target("*").path == "*");
  CHECK(parse_target("/").path == "/");
  CHECK(parse_target("http://a").path == "/");
  CHECK(parse_target("http://a?b").query == "b");
  CHECK(parse_target("/a/../b").path == "/a/../b");
  CHECK(parse_target("/a#b").path == "/a");
  CHECK(parse_target("/a/b/?c").path == "/a/b");
  CHECK(parse_target("/a//").path == "/a//");
  CHECK(parse_target("//").path == "//");
  CHECK(parse_target("/a%2F").path == "/a/");
  for (const char* bad :
       {"a", "http://", "http:///a", "ftp://a/", "http://u@h/", "/%", "/%2", "/%zz", "/%00", "/%0a",
        "/%ff", "/%c3", "/%7f", "/\xff", "/%c2%85", "a:80"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_target(bad), RefusedError);
  }
}

TEST_CASE("types of bodies that may be JSON") {
  const auto may = [](const char* type) {
    RequestHead head;
    if (type != nullptr) head.headers = {{"content-TYPE", type}};
    return may_be_json(head);
  };
  for (const char* good : {"application/json", "Application/JSON; charset=utf-8", "text/plain",
                           "application/vnd.api+json", "application/x-www-form-urlencoded", ""})
    CHECK(may(good));
  CHECK(may(nullptr));
  for (const char* bad : {"multipart/form-data; boundary=x", "application/xml", "text/html",
                          "application/jsonx", "image/svg+json"})
    CHECK(!may(bad));
}
