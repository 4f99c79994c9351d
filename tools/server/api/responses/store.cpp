#include "api/responses/store.h"

#include <algorithm>
#include <utility>

namespace weft::api::responses {
namespace {

std::size_t bytes_of(const std::vector<ChatMessage>& conversation) {
  std::size_t n = 0;
  for (const ChatMessage& message : conversation) {
    n += sizeof message + message.content.size() + message.reasoning.size();
    for (const ToolCall& call : message.tool_calls) n += sizeof call + call.arguments.size();
  }
  return n;
}

}  // namespace

void Store::begin(const std::string& id, std::string json) {
  const std::lock_guard lock(mutex_);
  entries_[id].json = std::move(json);
}

void Store::set_cancel(const std::string& id, std::function<void()> cancel) {
  {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(id);
    if (at != entries_.end()) {
      if (at->second.running) at->second.cancel = std::move(cancel);
      return;
    }
  }
  cancel();
}

void Store::finish(const std::string& id, std::string json, std::vector<ChatMessage> conversation) {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(id);
  if (at == entries_.end()) return;
  Entry& entry = at->second;
  entry.n_bytes = sizeof entry + json.size() + bytes_of(conversation);
  entry.json = std::move(json);
  entry.conversation = std::move(conversation);
  entry.cancel = {};
  entry.running = false;
  n_bytes_ += entry.n_bytes;
  ended_.push_back(id);
  while (ended_.size() > max_responses_ || (n_bytes_ > max_bytes_ && !ended_.empty())) {
    erase(ended_.front());
    ended_.pop_front();
  }
}

void Store::erase(const std::string& id) {
  const auto at = entries_.find(id);
  if (at == entries_.end()) return;
  n_bytes_ -= at->second.n_bytes;
  entries_.erase(at);
}

std::optional<std::string> Store::json(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(id);
  if (at == entries_.end()) return {};
  return at->second.json;
}

std::optional<std::vector<ChatMessage>> Store::conversation(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(id);
  if (at == entries_.end() || at->second.running) return {};
  return at->second.conversation;
}

bool Store::remove(const std::string& id) {
  std::function<void()> cancel;
  {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(id);
    if (at == entries_.end()) return false;
    cancel = std::move(at->second.cancel);
    std::erase(ended_, id);
    erase(id);
  }
  if (cancel) cancel();
  return true;
}

}  // namespace weft::api::responses
