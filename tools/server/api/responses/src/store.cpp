#include "store.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "weft/api/json.h"

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

// The items of the output, by their ids.
std::vector<std::pair<std::string, std::string>> output_items(const std::string& response) {
  std::vector<std::pair<std::string, std::string>> items;
  const Json json = Json::parse(response, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("output")) return items;
  for (const Json& item : json["output"])
    if (item.contains("id") && item["id"].is_string())
      items.emplace_back(item["id"].get<std::string>(), to_text(item));
  return items;
}

}  // namespace

Store::Entries::const_iterator Store::find(const std::string& id, std::string_view owner) const {
  const auto at = entries_.find(id);
  return at != entries_.end() && at->second.owner == owner ? at : entries_.end();
}

void Store::begin(const std::string& id, std::string json, std::string input, bool keep,
                  std::string owner) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[id];
  entry.owner = std::move(owner);
  entry.json = std::move(json);
  entry.input = std::move(input);
  entry.keep = keep;
  set_bytes(entry, sizeof entry + entry.json.size() + entry.input.size());
  make_room();
}

void Store::set_cancel(const std::string& id, std::function<void()> cancel) {
  {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(id);
    if (at != entries_.end() && !at->second.cancelled) {
      if (at->second.running) at->second.cancel = std::move(cancel);
      return;
    }
  }
  cancel();
}

void Store::finish(const std::string& id, std::string json, std::vector<ChatMessage> conversation) {
  auto items = output_items(json);
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(id);
  if (at == entries_.end() || !at->second.running) return;
  Entry& entry = at->second;
  std::size_t n_bytes = sizeof entry + json.size() + entry.input.size() + bytes_of(conversation);
  for (auto& [item, text] : items) {
    n_bytes += 2 * item.size() + text.size();
    entry.items.push_back(item);
    items_.insert_or_assign(std::move(item), Item{entry.owner, std::move(text)});
  }
  entry.json = std::move(json);
  entry.conversation = std::move(conversation);
  set_bytes(entry, n_bytes);
  end(id, entry);
}

// The entry counts among those that have ended. The mutex is held, as in the functions below.
void Store::end(const std::string& id, Entry& entry) {
  entry.cancel = {};
  entry.running = false;
  ended_.push_back(id);
  make_room();
}

void Store::set_bytes(Entry& entry, std::size_t n) {
  n_bytes_ = n_bytes_ - entry.n_bytes + n;
  entry.n_bytes = n;
}

void Store::make_room() {
  while (ended_.size() > max_responses_ || (n_bytes_ > max_bytes_ && !ended_.empty())) {
    erase(ended_.front());
    ended_.pop_front();
  }
}

void Store::erase(const std::string& id) {
  const auto at = entries_.find(id);
  if (at == entries_.end()) return;
  n_bytes_ -= at->second.n_bytes;
  for (const std::string& item : at->second.items) items_.erase(item);
  entries_.erase(at);
}

std::optional<std::string> Store::json(const std::string& id, std::string_view owner) const {
  const std::lock_guard lock(mutex_);
  const auto at = find(id, owner);
  if (at == entries_.end()) return {};
  return at->second.json;
}

std::optional<std::vector<ChatMessage>> Store::conversation(const std::string& id,
                                                            std::string_view owner) const {
  const std::lock_guard lock(mutex_);
  const auto at = find(id, owner);
  if (at == entries_.end() || at->second.running || at->second.cancelled) return {};
  return at->second.conversation;
}

std::optional<std::string> Store::item(const std::string& id, std::string_view owner) const {
  const std::lock_guard lock(mutex_);
  const auto at = items_.find(id);
  if (at == items_.end() || at->second.owner != owner) return {};
  return at->second.json;
}

std::optional<std::string> Store::input(const std::string& id, std::string_view owner) const {
  const std::lock_guard lock(mutex_);
  const auto at = find(id, owner);
  if (at == entries_.end()) return {};
  return at->second.input;
}

bool Store::cancel(const std::string& id, std::string json, std::string_view owner) {
  std::function<void()> cancel;
  {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(id);
    if (at == entries_.end() || at->second.owner != owner || !at->second.running) return false;
    cancel = std::move(at->second.cancel);
    at->second.cancelled = true;
    set_bytes(at->second, sizeof(Entry) + json.size() + at->second.input.size());
    at->second.json = std::move(json);
    if (at->second.keep)
      end(id, at->second);
    else
      erase(id);
  }
  if (cancel) cancel();
  return true;
}

void Store::drop_running(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(id);
  if (at != entries_.end() && at->second.running) erase(id);
}

bool Store::remove(const std::string& id, std::string_view owner) {
  std::function<void()> cancel;
  {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(id);
    if (at == entries_.end() || at->second.owner != owner) return false;
    cancel = std::move(at->second.cancel);
    std::erase(ended_, id);
    erase(id);
  }
  if (cancel) cancel();
  return true;
}

}  // namespace weft::api::responses
