#include "request_log.h"

#include <algorithm>

#include "weft/hosting/server_metrics.h"

namespace weft::server {
namespace {

// More than run at a time; an answer that ends without a line in the log leaves its texts behind.
constexpr std::size_t kMaxTexts = 4096;
constexpr int kClientLeft = 499;

}  // namespace

RequestLog::RequestLog(Log& log, ServerMetrics& metrics, const std::vector<std::string>& paths)
    : log_(log), metrics_(metrics) {
  for (const std::string& path : paths) {
    const std::size_t parameter = path.find('{');
    if (parameter == path.npos)
      paths_.push_back(path);
    else
      prefixes_.emplace_back(path.substr(0, parameter), path);
  }
}

std::string RequestLog::known_path(const std::string& path) const {
  if (std::ranges::find(paths_, path) != paths_.end()) return path;
  for (const auto& [prefix, pattern] : prefixes_)
    if (path.starts_with(prefix)) return pattern;
  return "other";
}

void RequestLog::add_texts(const std::string& id, const std::string& model, TokenCounts tokens) {
  const std::lock_guard lock(mutex_);
  texts_.push_back({id, model, tokens});
  if (texts_.size() > kMaxTexts) texts_.pop_front();
}

void RequestLog::finish(const http::RequestHead& head, int status, double seconds) {
  AccessRecord record;
  record.method = head.method;
  record.path = head.path;
  record.id = head.id;
  record.peer = head.peer;
  record.status = status;
  record.seconds = seconds;
  record.client_left = status == kClientLeft;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(texts_, head.id, &Texts::id);
    if (found != texts_.end()) {
      record.model = found->model;
      record.tokens = found->tokens;
      texts_.erase(found);
    }
  }
  metrics_.count_request(known_path(head.path), status);
  metrics_.request_time.add(seconds);
  log_.access(record);
}

}  // namespace weft::server
