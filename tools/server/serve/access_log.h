#pragma once
// One line per request, and messages about the server: plain or as JSON objects. Never a key, a
// prompt or an answer: callers do not pass any. Bytes that could forge lines are escaped.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace weft::server {

struct TokenCounts {
  std::int64_t n_prompt = -1, n_cached = -1, n_new = -1;  // -1: the request has none
};

struct AccessRecord {
  std::string method, path, id, peer, model;
  int status = 0;
  double seconds = 0;
  TokenCounts tokens;
  bool client_left = false;
};

// Any thread may write.
class Log {
 public:
  // Appends to the file; to stderr if it is empty. Throws IoError.
  Log(const std::string& file, bool json);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void access(const AccessRecord& record);
  void message(std::string_view level, std::string_view text);  // "info", "warning", "error"

 private:
  void write(const std::string& line);

  std::mutex mutex_;
  std::FILE* file_;
  bool json_;
};

// The text with control characters, backslashes and bytes past ASCII as \xNN.
std::string printable(std::string_view text);

}  // namespace weft::server
