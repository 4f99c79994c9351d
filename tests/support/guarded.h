#pragma once
// Memory that ends at an inaccessible page: reading or writing past the end crashes the program, in
// every build.

#include <cstddef>
#include <cstdint>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

namespace weft::test {

class Guarded {
 public:
  explicit Guarded(std::int64_t n_bytes) {
    const std::int64_t page = sysconf(_SC_PAGESIZE);
    const std::int64_t room = (n_bytes + page - 1) / page * page;
    mapped_ = static_cast<std::size_t>(room + page);
    void* p = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(p);
    mprotect(base_ + room, static_cast<std::size_t>(page), PROT_NONE);
    data_ = base_ + room - n_bytes;
  }
  ~Guarded() { munmap(base_, mapped_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::byte* base_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t mapped_ = 0;
};

}  // namespace weft::test
