#include "serve/access_log.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>

#include <fmt/format.h>

#include "weft/base/error.h"

namespace weft::server {
namespace {

constexpr std::size_t kMaxPath = 300;

std::string now() {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  return fmt::format("{}.{:03}Z", text, ms % 1000);
}

// Of text that printable() made: it has no control characters, and every backslash begins \xNN,
// which JSON does not have.
std::string json_string(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    json += c;
  }
  return json + '"';
}

std::string json_line(const AccessRecord& r) {
  std::string line = fmt::format(
      R"({{"time":"{}","id":{},"peer":{},"method":{},"path":{},"status":{},"ms":{:.3f})", now(),
      json_string(r.id), json_string(printable(r.peer)), json_string(printable(r.method)),
      json_string(printable(std::string_view(r.path).substr(0, kMaxPath))), r.status,
      r.seconds * 1e3);
  if (!r.model.empty()) line += fmt::format(R"(,"model":{})", json_string(printable(r.model)));
  if (r.tokens.n_prompt >= 0) {
    line += fmt::format(R"(,"prompt_tokens":{},"cached_tokens":{},"new_tokens":{})",
                        r.tokens.n_prompt, r.tokens.n_cached, r.tokens.n_new);
  }
  if (r.client_left) line += R"(,"client_left":true)";
  return line + "}\n";
}

std::string plain_line(const AccessRecord& r) {
  std::string line = fmt::format("{} {} {} {} {:.1f} ms", now(), printable(r.method),
                                 printable(std::string_view(r.path).substr(0, kMaxPath)), r.status,
                                 r.seconds * 1e3);
  if (r.tokens.n_prompt >= 0)
    line += fmt::format(" prompt {} cached {} new {}", r.tokens.n_prompt, r.tokens.n_cached,
                        r.tokens.n_new);
  if (!r.model.empty()) line += fmt::format(" model {}", printable(r.model));
  if (r.client_left) line += " client left";
  return line + fmt::format(" {}\n", r.id);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '\\')
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out;
}

Log::Log(const std::string& file, bool json) : file_(stderr), json_(json) {
  if (file.empty()) return;
  file_ = std::fopen(file.c_str(), "ae");
  if (!file_) fail<IoError>("--log-file: cannot write {}: {}", file, std::strerror(errno));
}

Log::~Log() {
  if (file_ != stderr) std::fclose(file_);
}

void Log::access(const AccessRecord& record) {
  write(json_ ? json_line(record) : plain_line(record));
}

void Log::message(std::string_view level, std::string_view text) {
  if (json_) {
    write(fmt::format("{{\"time\":\"{}\",\"level\":\"{}\",\"message\":{}}}\n", now(), level,
                      json_string(printable(text))));
  } else {
    write(fmt::format("{} {}: {}\n", now(), level, printable(text)));
  }
}

void Log::write(const std::string& line) {
  const std::lock_guard lock(mutex_);
  std::fwrite(line.data(), 1, line.size(), file_);
  std::fflush(file_);
}

}  // namespace weft::server
