#include "reply_text.h"

#include <ctime>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace weft::http {
namespace {

constexpr std::pair<int, std::string_view> kReasons[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
    {529, "Overloaded"},
};

std::string_view reason(int status) {
  for (const auto& [known, text] : kReasons)
    if (known == status) return text;
  return "Unknown";
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  const std::size_t begin = out.size();
  fmt::format_to(std::back_inserter(out), "{}: {}", name, value);
  for (std::size_t i = begin; i < out.size(); ++i)
    if (static_cast<unsigned char>(out[i]) < 0x20 || out[i] == 0x7f) out[i] = ' ';
  out += "\r\n";
}

// RFC 9110 section 5.6.7, made once per second.
std::string_view date() {
  thread_local std::time_t when = -1;
  thread_local std::string text;
  const std::time_t now = std::time(nullptr);
  if (now == when) return text;
  when = now;
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm t = {};
  gmtime_r(&now, &t);
  text = fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[t.tm_wday], t.tm_mday,
                     kMonths[t.tm_mon], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
  return text;
}

}  // namespace

bool has_no_body(int status) {
  return status < 200 || status == 204 || status == 304;
}

std::string chunk_line(std::size_t n_bytes) {
  return fmt::format("{:x}\r\n", n_bytes);
}

std::string reply_head(const Reply& reply, const RequestHead& request, const ReplyFraming& framing,
                       const Headers& more) {
  std::string out =
      fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\n", reply.status, reason(reply.status), date());
  const bool no_body = has_no_body(reply.status);
  if (!no_body && !reply.content_type.empty())
    append_field(out, "Content-Type", reply.content_type);
  if (framing.length && !no_body)
    append_field(out, "Content-Length", fmt::to_string(*framing.length));
  if (framing.chunked && !no_body) append_field(out, "Transfer-Encoding", "chunked");
  append_field(out, "X-Content-Type-Options", "nosniff");
  if (reply.content_type.starts_with("text/event-stream")) {
    append_field(out, "Cache-Control", "no-cache");
    append_field(out, "X-Accel-Buffering", "no");
  }
  if (!request.id.empty()) {
    append_field(out, "x-request-id", request.id);
    append_field(out, "request-id", request.id);
  }
  for (const auto& [name, value] : reply.headers) append_field(out, name, value);
  for (const auto& [name, value] : more) append_field(out, name, value);
  if (framing.close) out += "Connection: close\r\n";
  return out += "\r\n";
}

}  // namespace weft::http
