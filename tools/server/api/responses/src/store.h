#pragma once
// Responses that are running, and those that are kept for a while after they have ended.

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/template/chat_template.h"

namespace weft::api::responses {

// Threads: all functions may be called from any thread. When the limits are exceeded, the responses
// that ended first are forgotten. Running ones count in `max_bytes`, and are never forgotten.
//
// `owner`: ApiCall::owner() of the request that began the response. To other owners its id, and
// those of its items, are unknown.
class Store {
 public:
  explicit Store(std::size_t max_responses = 1000, std::size_t max_bytes = std::size_t{32} << 20)
      : max_responses_(max_responses), max_bytes_(max_bytes) {}

  // `input`: the items of the request's input, as a JSON array. `keep`: once it is cancelled.
  void begin(const std::string& id, std::string json, std::string input = "[]", bool keep = true,
             std::string owner = {});
  // Calls `cancel` at once if the response was removed or cancelled.
  void set_cancel(const std::string& id, std::function<void()> cancel);
  // Nothing happens if the response was removed or cancelled.
  void finish(const std::string& id, std::string json, std::vector<ChatMessage> conversation);

  // Nullopt for unknown ids.
  std::optional<std::string> json(const std::string& id, std::string_view owner = {}) const;
  // With the answer. Nullopt for unknown ids, and for responses that are running or were
  // cancelled.
  std::optional<std::vector<ChatMessage>> conversation(const std::string& id,
                                                       std::string_view owner = {}) const;
  // An item of the output of a response that has ended, as JSON. Nullopt for unknown ids.
  std::optional<std::string> item(const std::string& id, std::string_view owner = {}) const;
  // The items of the request's input. Nullopt for unknown ids.
  std::optional<std::string> input(const std::string& id, std::string_view owner = {}) const;
  // Ends the response if it is running, with this JSON for its last state. Returns false, and
  // changes nothing, if it is not running.
  bool cancel(const std::string& id, std::string json, std::string_view owner = {});
  // Cancels the response if it is running. Returns whether the id is known.
  bool remove(const std::string& id, std::string_view owner = {});
  // The same for a response that is running; one that was cancelled is kept.
  void drop_running(const std::string& id);

 private:
  struct Entry {
    std::string json;
    std::string owner = {};
    std::string input = {};
    std::vector<ChatMessage> conversation = {};
    std::function<void()> cancel = {};
    bool running = true, cancelled = false, keep = true;
    std::vector<std::string> items = {};  // ids
    std::size_t n_bytes = 0;              // its part of n_bytes_
  };
  using Entries = std::unordered_map<std::string, Entry>;
  struct Item {
    std::string owner, json;
  };
  // The end if the id is unknown to the owner.
  Entries::const_iterator find(const std::string& id, std::string_view owner) const;
  void erase(const std::string& id);
  void end(const std::string& id, Entry& entry);
  void set_bytes(Entry& entry, std::size_t n);
  void make_room();

  const std::size_t max_responses_, max_bytes_;
  mutable std::mutex mutex_;
  Entries entries_;
  std::unordered_map<std::string, Item> items_;
  std::deque<std::string> ended_;  // ids in order; some may have been removed
  std::size_t n_bytes_ = 0;
};

}  // namespace weft::api::responses
