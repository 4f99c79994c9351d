#pragma once
// Keys as hashes, compared in a time that does not depend on the key.

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "weft/http/digest.h"

namespace weft::http {

// Threads: any.
class KeySet {
 public:
  // Throws ValueError for a key that no header can hold.
  void set(const std::vector<std::string>& keys);
  bool empty() const;
  // Compares with every key, in constant time.
  bool contains(std::string_view key) const;

 private:
  mutable std::mutex mutex_;
  std::vector<Sha256> hashes_;
};

}  // namespace weft::http
