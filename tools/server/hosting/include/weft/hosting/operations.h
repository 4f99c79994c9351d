#pragma once
// The server's endpoints about itself: /health, /metrics, /version.

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "weft/api/endpoints.h"

namespace weft::server {

class ModelPool;
struct ServerMetrics;

struct Operations {
  ModelPool& pool;
  ServerMetrics& metrics;
  std::atomic<bool>& draining;
  std::int64_t memory_budget = 0;  // PoolOptions::budget
  int workers = 0;
  bool show_metrics = true;
  // Why the server can compute nothing any more; "" if it can. May be empty.
  std::function<std::string()> fault = {};
};

// `operations` outlives the endpoints.
std::vector<api::Endpoint> operation_endpoints(const Operations& operations,
                                               const std::string& version);

// "loading", "ready", "draining" or "failed".
std::string_view health_of(const Operations& operations);

// The resident memory of the process, with file pages; 0 if unknown.
std::int64_t resident_bytes();

// The text of /metrics.
std::string metrics_text(const Operations& operations);

}  // namespace weft::server
