#pragma once
// The calls of every worker over time, for trace viewers.

#include <cstdint>
#include <span>
#include <string>

#include "weft/files/output_file.h"
#include "weft/scheduler/profiler.h"

namespace weft::tools {

// Trace Event Format, which ui.perfetto.dev and chrome://tracing load: a track for steps, and one
// for each worker with its kernel calls.
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
class TraceEvents {
 public:
  TraceEvents(const std::string& path, int workers);  // throws IoError, as everything here

  void add_step(const std::string& name, const std::string& plan, std::int64_t begin_ns,
                std::int64_t end_ns);
  void add_calls(int worker, std::span<const ProfiledCall> calls);
  // `about`: a JSON object that describes the measurement. REQUIRES: called at most once, at the
  // end.
  void commit(const std::string& about);

 private:
  void add(const std::string& event);

  OutputFile file_;
  bool first_ = true;
};

}  // namespace weft::tools
