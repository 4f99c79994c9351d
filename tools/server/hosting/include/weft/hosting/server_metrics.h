#pragma once
// The counters of the server besides those of its engines.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "weft/api/context.h"
#include "weft/hosting/metrics_text.h"

namespace weft::server {

// Threads: all functions may be called from any thread.
struct ServerMetrics {
  Histogram time_to_first_token;  // from the request to the engine to its first token
  Histogram time_between_tokens;
  Histogram queue_time;
  Histogram request_time;

  // `path` must be one of a fixed set: clients could make up any number of others.
  void count_request(const std::string& path, int status);
  // In the order in which they were first counted.
  std::vector<std::pair<std::pair<std::string, int>, std::uint64_t>> requests() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::pair<std::string, int>, std::uint64_t>> requests_;
};

// A source that measures the times of its texts. `metrics` outlives it and its requests.
std::shared_ptr<api::TextSource> measured(std::shared_ptr<api::TextSource> source,
                                          ServerMetrics& metrics);

}  // namespace weft::server
