#pragma once
// Why a server can compute nothing any more: a rank of its model is lost.

#include <mutex>
#include <string>

namespace weft::server {

// Threads: all functions may be called from any thread.
class RankFault {
 public:
  // Keeps the first reason. Returns whether it is this one.
  bool set(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (!why_.empty()) return false;
    why_ = why;
    return true;
  }
  std::string why() const {  // "": there is none
    const std::lock_guard lock(mutex_);
    return why_;
  }

 private:
  mutable std::mutex mutex_;
  std::string why_;
};

}  // namespace weft::server
