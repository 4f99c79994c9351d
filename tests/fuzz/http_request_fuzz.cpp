// Reads arbitrary bytes as an HTTP request. The first byte says how many bytes come at a time,
// which must not change the outcome. If a request is accepted, a second decoder, which knows
// nothing but the framing of RFC 9112, must find the same body and the same end: otherwise a server
// in front could see another request behind it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "weft/base/text.h"

#include "refused_error.h"
#include "request_reader.h"

namespace {

using namespace weft;
using namespace weft::http;

constexpr ReaderLimits kLimits{{300, 1000, 12}, 600};

void require(bool ok) {
  if (!ok) std::abort();
}

struct Outcome {
  bool complete = false;
  RequestHead head;
  std::string body;
  std::size_t n_head = 0, n = 0;  // bytes consumed
};

void read(std::string_view bytes, std::size_t step, Outcome& out) {
  RequestReader reader(kLimits);
  std::size_t end = 0;
  bool begun = false;
  const auto begin = [&] {
    out.n_head = out.n;
    out.head = reader.head();
    reader.begin_body();
    begun = true;
  };
  while (!reader.complete()) {
    const std::string_view input = bytes.substr(out.n, end - out.n);
    if (reader.head_complete() && !begun) begin();
    const std::size_t n = begun ? reader.read_body(input) : reader.read_head(input);
    require(n <= input.size());
    out.n += n;
    if (n > 0) continue;
    if (end == bytes.size()) return;
    end = std::min(end + step, bytes.size());
  }
  if (!begun) begin();
  out.body = reader.take_body();
  out.complete = true;
}

Outcome outcome(std::string_view bytes, std::size_t step) {
  Outcome out;
  try {
    read(bytes, step, out);
  } catch (const RefusedError& e) {
    require(e.refusal().status >= 400 && !e.refusal().message.empty());
    out.complete = false;
  }
  return out;
}

// The body behind a head, and where it ends.
struct Extent {
  std::string body;
  std::size_t n = 0;
};

std::optional<Extent> decode_chunks(std::string_view bytes) {
  Extent result;
  for (;;) {
    const std::size_t line = bytes.find("\r\n", result.n);
    if (line == std::string_view::npos) return std::nullopt;
    char* digits_end = nullptr;
    const std::string text(bytes.substr(result.n, line - result.n));
    const std::size_t size = std::strtoul(text.c_str(), &digits_end, 16);
    if (digits_end == text.c_str() || text.find_first_of("+-xX \t") == 0) return std::nullopt;
    result.n = line + 2;
    if (size == 0) break;
    if (size > bytes.size() - result.n) return std::nullopt;
    result.body += bytes.substr(result.n, size);
    result.n += size;
    if (bytes.substr(result.n, 2) != "\r\n") return std::nullopt;
    result.n += 2;
  }
  for (;;) {  // trailers
    const std::size_t line = bytes.find("\r\n", result.n);
    if (line == std::string_view::npos) return std::nullopt;
    const bool empty = line == result.n;
    result.n = line + 2;
    if (empty) return result;
  }
}

std::optional<Extent> decode(const Headers& headers, std::string_view bytes) {
  int n_lengths = 0, n_codings = 0;
  for (const auto& [name, value] : headers) {
    n_lengths += equals_ignoring_case(name, "content-length");
    n_codings += equals_ignoring_case(name, "transfer-encoding");
  }
  require(n_lengths + n_codings <= 1);
  if (n_codings > 0) return decode_chunks(bytes);
  const std::string length(find_header(headers, "content-length"));
  require(std::all_of(length.begin(), length.end(), is_digit));
  const std::size_t n = std::strtoul(length.c_str(), nullptr, 10);
  if (n > bytes.size()) return std::nullopt;
  return Extent{std::string(bytes.substr(0, n)), n};
}

void check_accepted(std::string_view bytes, const Outcome& out) {
  const std::string_view head = bytes.substr(0, out.n_head);
  require(head.ends_with("\r\n\r\n") && head.find('\0') == std::string_view::npos);
  require(std::all_of(out.head.path.begin(), out.head.path.end(),
                      [](char c) { return static_cast<unsigned char>(c) >= 0x20; }));
  const auto extent = decode(out.head.headers, bytes.substr(out.n_head));
  require(extent && out.n_head + extent->n == out.n);
  require(out.body.size() <= kLimits.body_bytes);
  const bool packed = !find_header(out.head.headers, "content-encoding").empty();
  require(packed || extent->body == out.body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = outcome(bytes, bytes.size() + 1);
  const Outcome split = outcome(bytes, 1 + data[0] % 16);
  // A part of a request may be refused early or late, but it is never accepted.
  require(whole.complete == split.complete);
  if (!whole.complete) return 0;
  require(whole.n == split.n && whole.body == split.body && whole.head.path == split.head.path &&
          whole.head.headers == split.head.headers);
  check_accepted(bytes, whole);
  return 0;
}
