#pragma once
// One line per request, and messages about the server: plain or as JSON objects. Never a key, a
// prompt or an answer: callers do not pass any. Bytes that could forge lines are escaped.

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

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

// Any thread may write, and no caller waits: a thread writes the lines to the disk or to stderr. If
// it falls too far behind, lines are dropped; a warning says how many.
class Log {
 public:
  // Appends to the file; to stderr if it is empty. Throws IoError.
  Log(const std::string& file, bool json);
  // Writes the waiting lines, however long the reader takes.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Waits until everything is written, or for a second. Returns whether everything is.
  bool flush();
  void access(const AccessRecord& record);
  void message(std::string_view level, std::string_view text);  // "info", "warning", "error"

 private:
  std::string message_line(std::string_view level, std::string_view text) const;
  void write(const std::string& line);
  void run();

  std::mutex mutex_;
  std::condition_variable changed_, written_;
  std::string waiting_;  // lines
  std::uint64_t n_dropped_ = 0;
  bool stops_ = false, writes_ = false;
  std::FILE* file_;
  bool json_;
  std::thread thread_;
};

}  // namespace weft::server
