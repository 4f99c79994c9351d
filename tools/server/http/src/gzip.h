#pragma once
// Decompression of request bodies.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace weft::http {

class GzipReader {
 public:
  GzipReader();
  ~GzipReader();

  // Unpacks `piece` and appends it. Throws RefusedError: 400 for bytes that are not gzip, 413 if
  // `out` would become larger than `max_bytes`. Unpacks at most 64 KiB more than that.
  void unpack(std::string_view piece, std::size_t max_bytes, std::string& out);
  // Throws RefusedError if the data is truncated.
  void finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::http
