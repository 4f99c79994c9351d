// The C library's allocation functions, replaced by ones that count. operator new and oneTBB end
// here too: oneTBB would load its own allocator (libtbbmalloc) at run time and ask the system for
// memory behind our back, so dlopen refuses that one library and oneTBB falls back to malloc. Under
// sanitizers, which own malloc, their hook counts instead.

#include "support/allocations.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <dlfcn.h>

namespace weft::test {
namespace {

constinit std::atomic<std::int64_t> count{0};

}  // namespace

std::int64_t allocations() {
  return count.load();
}

void count_one() {
  count.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace weft::test

extern "C" void* dlopen(const char* name, int flags) {
  if (name && std::strstr(name, "tbbmalloc")) return nullptr;
  static const auto real =
      reinterpret_cast<void* (*)(const char*, int)>(dlsym(RTLD_NEXT, "dlopen"));
  return real(name, flags);
}

// GCC defines macros, clang has features.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEFT_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEFT_SANITIZED
#endif
#endif

#if defined(WEFT_SANITIZED)

// GCC ships the function without the header that declares it (compiler-rt,
// sanitizer/allocator_interface.h).
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void*,
                                                                             std::size_t),
                                                         void (*free_hook)(const volatile void*));

namespace {
const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t) { weft::test::count_one(); },
    [](const volatile void*) {});
}  // namespace

#else

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): names of the C library.
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
// NOLINTEND(readability-identifier-naming)

void* malloc(std::size_t size) {
  weft::test::count_one();
  return __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) {
  weft::test::count_one();
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t size) {
  weft::test::count_one();
  return __libc_realloc(p, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  weft::test::count_one();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  *out = memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}

}  // extern "C"

#endif
