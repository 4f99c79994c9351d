#include "support/allocations.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {
std::atomic<std::int64_t> n_calls{0};
}

std::int64_t weft::test::allocations() {
  return n_calls.load();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// operator new ends here as well.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t n) {
  ++n_calls;
  return __libc_malloc(n);
}
void* calloc(std::size_t n, std::size_t size) {
  ++n_calls;
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t n) {
  ++n_calls;
  return __libc_realloc(p, n);
}
void* memalign(std::size_t alignment, std::size_t n) {
  ++n_calls;
  return __libc_memalign(alignment, n);
}
void* aligned_alloc(std::size_t alignment, std::size_t n) {
  ++n_calls;
  return __libc_memalign(alignment, n);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t n) {
  ++n_calls;
  *out = __libc_memalign(alignment, n);
  return *out ? 0 : ENOMEM;
}
}

#endif
