#pragma once
// Keys as hashes, compared in a time that does not depend on the key.

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

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
  using Hash = std::array<unsigned char, 32>;  // SHA-256
  static Hash hash(std::string_view key);

  mutable std::mutex mutex_;
  std::vector<Hash> hashes_;
};

}  // namespace weft::http
