#include "access_log.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "weft/base/error.h"

namespace weft::server {
namespace {

constexpr std::size_t kMaxPath = 300;
constexpr std::size_t kMaxWaiting = std::size_t{1} << 20;  // bytes of lines

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

// The text with control characters, backslashes and bytes past ASCII as \xNN.
std::string escape_for_log(std::string_view text) {
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

// A text from escape_for_log() as a JSON string: it has no control characters, and every backslash
// begins \xNN, which JSON does not have.
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
      json_string(r.id), json_string(escape_for_log(r.peer)), json_string(escape_for_log(r.method)),
      json_string(escape_for_log(std::string_view(r.path).substr(0, kMaxPath))), r.status,
      r.seconds * 1e3);
  if (!r.model.empty()) line += fmt::format(R"(,"model":{})", json_string(escape_for_log(r.model)));
  if (r.tokens.n_prompt >= 0) {
    line += fmt::format(R"(,"prompt_tokens":{},"cached_tokens":{},"new_tokens":{})",
                        r.tokens.n_prompt, r.tokens.n_cached, r.tokens.n_new);
  }
  if (r.client_left) line += R"(,"client_left":true)";
  return line + "}\n";
}

std::string plain_line(const AccessRecord& r) {
  std::string line = fmt::format("{} {} {} {} {:.1f} ms", now(), escape_for_log(r.method),
                                 escape_for_log(std::string_view(r.path).substr(0, kMaxPath)),
                                 r.status, r.seconds * 1e3);
  if (r.tokens.n_prompt >= 0)
    line += fmt::format(" prompt {} cached {} new {}", r.tokens.n_prompt, r.tokens.n_cached,
                        r.tokens.n_new);
  if (!r.model.empty()) line += fmt::format(" model {}", escape_for_log(r.model));
  if (r.client_left) line += " client left";
  return line + fmt::format(" {}\n", r.id);
}

}  // namespace

Log::Log(const std::string& file, bool json) : file_(stderr), json_(json) {
  if (!file.empty()) file_ = std::fopen(file.c_str(), "ae");
  if (!file_) fail<IoError>("--log-file: cannot write {}: {}", file, std::strerror(errno));
  thread_ = std::thread([this] { run(); });
}

Log::~Log() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    changed_.notify_one();
  }
  thread_.join();
  if (file_ != stderr) std::fclose(file_);
}

bool Log::flush() {
  std::unique_lock lock(mutex_);
  return written_.wait_for(lock, std::chrono::seconds(1),
                           [this] { return waiting_.empty() && !writes_; });
}

void Log::access(const AccessRecord& record) {
  write(json_ ? json_line(record) : plain_line(record));
}

void Log::message(std::string_view level, std::string_view text) {
  write(message_line(level, text));
}

std::string Log::message_line(std::string_view level, std::string_view text) const {
  if (!json_) return fmt::format("{} {}: {}\n", now(), level, escape_for_log(text));
  return fmt::format("{{\"time\":\"{}\",\"level\":\"{}\",\"message\":{}}}\n", now(), level,
                     json_string(escape_for_log(text)));
}

void Log::write(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() + line.size() > kMaxWaiting) {
    ++n_dropped_;
    return;
  }
  waiting_ += line;
  changed_.notify_one();
}

void Log::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stops_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::string lines = std::exchange(waiting_, {});
    const std::uint64_t n_dropped = std::exchange(n_dropped_, 0);
    writes_ = true;
    lock.unlock();
    if (n_dropped > 0)
      lines += message_line("warning", fmt::format("{} lines of the log were dropped", n_dropped));
    std::fwrite(lines.data(), 1, lines.size(), file_);
    std::fflush(file_);
    lock.lock();
    writes_ = false;
    written_.notify_all();
  }
}

}  // namespace weft::server
