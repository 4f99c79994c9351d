#pragma once
// Bytes that were received and not yet parsed. A read may be pending: between prepare() and
// commit() the prepared bytes do not move.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace weft::http {

class InputBuffer {
 public:
  static constexpr std::size_t kIdleBytes = 2048;

  std::string_view view() const { return {data_.get() + begin_, end_ - begin_}; }
  std::size_t size() const { return end_ - begin_; }

  // Room for `n` further bytes. commit() appends those that came.
  char* prepare(std::size_t n) {
    pending_ = true;
    if (capacity_ - end_ < n) make_room(n);
    return data_.get() + end_;
  }
  void commit(std::size_t n) {
    end_ += n;
    pending_ = false;
  }

  void consume(std::size_t n) {
    begin_ += n;
    if (begin_ == end_ && !pending_) begin_ = end_ = 0;
  }
  // Releases memory that a large request needed.
  void shrink() {
    if (size() > 0 || pending_ || capacity_ <= kIdleBytes) return;
    begin_ = end_ = 0;
    data_.reset();
    capacity_ = 0;
  }

 private:
  void make_room(std::size_t n) {
    const std::size_t held = size();
    if (held + n > capacity_) {
      const std::size_t capacity = std::max(held + n, 2 * held);
      auto data = std::make_unique_for_overwrite<char[]>(capacity);
      if (held > 0) std::memcpy(data.get(), data_.get() + begin_, held);
      data_ = std::move(data);
      capacity_ = capacity;
    } else if (held > 0) {
      std::memmove(data_.get(), data_.get() + begin_, held);
    }
    begin_ = 0;
    end_ = held;
  }

  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0, begin_ = 0, end_ = 0;
  bool pending_ = false;
};

}  // namespace weft::http
