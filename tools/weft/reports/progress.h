#pragma once
// How far a long job is, on stderr: one line that is written over on a terminal, now and then a
// line elsewhere.

#include <chrono>
#include <cstdint>
#include <string>

namespace weft::tools {

class Progress {
 public:
  // `what`: the unit, "window".
  Progress(std::string what, std::int64_t total);
  ~Progress();  // takes the line off the terminal
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of all are done; `text` is a remark about them.
  void show(std::int64_t done, const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  std::int64_t total_;
  bool terminal_, on_screen_ = false;
  Clock::time_point start_, shown_;
};

}  // namespace weft::tools
