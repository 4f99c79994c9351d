#pragma once
// Combines the facts about a request at its end: from HTTP, and from the engine.

#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "weft/http/exchange.h"

#include "access_log.h"

namespace weft::server {

struct ServerMetrics;

// Threads: all functions may be called from any thread.
class RequestLog {
 public:
  // `paths`: those that metrics distinguish; "{id}" matches any rest. `log` and `metrics` outlive
  // it.
  RequestLog(Log& log, ServerMetrics& metrics, const std::vector<std::string>& paths);

  // The texts of the request with this id are complete.
  void add_texts(const std::string& id, const std::string& model, TokenCounts tokens);
  // The answer is complete, or the client has left.
  void finish(const http::RequestHead& head, int status, double seconds);

 private:
  struct Texts {
    std::string id, model;
    TokenCounts tokens;
  };
  std::string known_path(const std::string& path) const;

  Log& log_;
  ServerMetrics& metrics_;
  std::vector<std::string> paths_;                             // exact
  std::vector<std::pair<std::string, std::string>> prefixes_;  // "/v1/models/": its pattern
  std::mutex mutex_;
  std::deque<Texts> texts_;  // texts of requests whose answers are not complete
};

}  // namespace weft::server
