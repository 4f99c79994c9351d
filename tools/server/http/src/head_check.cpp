#include "head_check.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "weft/base/text.h"

#include "refused_error.h"

namespace weft::http {
namespace {

// tchar of RFC 9110 section 5.6.2.
bool is_token_char(char c) {
  const char l = to_lower(c);
  return is_digit(c) || (l >= 'a' && l <= 'z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

bool is_visible(char c) {
  return static_cast<unsigned char>(c) > 0x20 && c != 0x7f;
}

[[noreturn]] void bad_request(std::string message) {
  throw RefusedError(400, std::move(message));
}

// Returns the minor version.
int check_version(std::string_view version) {
  if (version == "HTTP/1.1") return 1;
  if (version == "HTTP/1.0") return 0;
  const bool well_formed = version.size() == 8 && version.starts_with("HTTP/") &&
                           is_digit(version[5]) && version[6] == '.' && is_digit(version[7]);
  if (well_formed) throw RefusedError(505, "only HTTP/1.1 and HTTP/1.0 are supported");
  bad_request("malformed request line");
}

int check_request_line(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) bad_request("malformed request line");
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (!is_token(line.substr(0, first))) bad_request("malformed method");
  if (target.empty() || !std::all_of(target.begin(), target.end(), is_visible))
    bad_request("malformed request target");
  return check_version(line.substr(last + 1));
}

std::uint64_t parse_length(std::string_view text) {
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
  if (!digits) bad_request("Content-Length: expected one whole number");
  std::uint64_t value = 0;
  for (const char c : text) {
    if (value > (UINT64_MAX >> 1) / 10) throw RefusedError(413, "Content-Length: too large");
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

// Letters, digits and the punctuation of names, addresses and ports.
bool is_host(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_visible(c) && std::string_view("/\\@?#<>\"{}|^`,;").find(c) == std::string_view::npos;
  });
}

struct Fields {
  int n_hosts = 0, n_codings = 0;
  Framing framing;
};

void check_field(std::string_view line, Fields& fields) {
  if (line.front() == ' ' || line.front() == '\t') bad_request("a header field is folded");
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) bad_request("a header line has no colon");
  const std::string_view name = line.substr(0, colon);
  if (!is_token(name)) bad_request("malformed name of a header field");
  const std::string_view value = trim(line.substr(colon + 1));
  if (equals_ignoring_case(name, "host")) {
    if (fields.n_hosts++ > 0) bad_request("more than one Host");
    if (!is_host(value)) bad_request("malformed Host");
  } else if (equals_ignoring_case(name, "content-length")) {
    if (fields.framing.length) bad_request("more than one Content-Length");
    fields.framing.length = parse_length(value);
  } else if (equals_ignoring_case(name, "transfer-encoding")) {
    if (fields.n_codings++ > 0) bad_request("more than one Transfer-Encoding");
    if (!equals_ignoring_case(value, "chunked"))
      bad_request("Transfer-Encoding: only 'chunked' is supported");
    fields.framing.chunked = true;
  }
}

}  // namespace

void HeadScanner::check_limits(std::size_t n_bytes) const {
  if (n_lines_ == 0 && n_bytes - line_begin_ > limits_.request_line_bytes)
    throw RefusedError(
        414, fmt::format("the request line is longer than {} bytes", limits_.request_line_bytes));
  if (n_bytes > limits_.header_bytes)
    throw RefusedError(431,
                       fmt::format("the header is longer than {} bytes", limits_.header_bytes));
  if (n_lines_ > limits_.header_lines + 1)
    throw RefusedError(431, fmt::format("the header has more than {} lines", limits_.header_lines));
}

void HeadScanner::end_line(std::size_t end) {
  check_limits(end);
  ++n_lines_;
  line_begin_ = end;
}

std::size_t HeadScanner::scan(std::string_view bytes) {
  for (; at_ < bytes.size(); ++at_) {
    const char c = bytes[at_];
    if (after_cr_) {
      if (c != '\n') bad_request("a line of the header does not end with CR LF");
      after_cr_ = false;
      const bool empty = at_ - line_begin_ == 1;
      if (empty && n_lines_ == 0) bad_request("empty request line");
      end_line(at_ + 1);
      if (empty) return ++at_;
    } else if (c == '\r') {
      after_cr_ = true;
    } else if (c == '\n') {
      bad_request("a line of the header does not end with CR LF");
    } else if (static_cast<unsigned char>(c) < 0x20 && (c != '\t' || n_lines_ == 0)) {
      bad_request("control character in the header");
    } else if (c == 0x7f) {
      bad_request("control character in the header");
    }
  }
  check_limits(bytes.size());
  return 0;
}

Framing check_head(std::string_view head) {
  std::size_t end = head.find("\r\n");
  Fields fields;
  fields.framing.minor_version = check_request_line(head.substr(0, end));
  for (std::size_t begin = end + 2; begin + 2 < head.size(); begin = end + 2) {
    end = head.find("\r\n", begin);
    check_field(head.substr(begin, end - begin), fields);
  }
  const Framing& framing = fields.framing;
  if (framing.minor_version == 1 && fields.n_hosts == 0) bad_request("no Host");
  if (framing.chunked && framing.length) bad_request("both Content-Length and Transfer-Encoding");
  if (framing.chunked && framing.minor_version == 0)
    bad_request("Transfer-Encoding in an HTTP/1.0 request");
  return framing;
}

}  // namespace weft::http
