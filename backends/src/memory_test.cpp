#include "weft/backends/memory.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <doctest/doctest.h>

#include "weft/base/error.h"

namespace weft {
namespace {

bool aligned(const Buffer& b, std::uintptr_t to) {
  return reinterpret_cast<std::uintptr_t>(b.data()) % to == 0;
}

TEST_CASE("a buffer is zeroed, writable to its last byte and aligned") {
  for (const std::int64_t n :
       {1LL, 63LL, 4096LL, 4097LL, (2LL << 20) - 1, 2LL << 20, (5LL << 20) + 7}) {
    CAPTURE(n);
    const Buffer b(n);
    REQUIRE(b.size() == n);
    CHECK(aligned(b, n >= (2 << 20) ? 2 << 20 : kAlignment));
    CHECK(std::ranges::all_of(b.bytes(), [](std::byte x) { return x == std::byte{0}; }));
    b.bytes().front() = b.bytes().back() = std::byte{1};
    CHECK(b.data()[n - 1] == std::byte{1});
  }
}

TEST_CASE("a moved-from buffer is empty") {
  Buffer a(100);
  std::byte* const data = a.data();
  Buffer b(std::move(a));
  CHECK(b.data() == data);
  CHECK(a.data() == nullptr);
  CHECK(a.size() == 0);
  Buffer c(3 << 20);
  c = std::move(b);
  CHECK(c.data() == data);
  CHECK(c.size() == 100);
}

TEST_CASE("sizes that cannot be allocated are rejected with the number") {
  CHECK(Buffer(0).data() == nullptr);
  CHECK_THROWS_WITH_AS(Buffer(-1), "cannot allocate -1 bytes: invalid size", IoError);
  CHECK_THROWS_AS(Buffer{std::numeric_limits<std::int64_t>::max()}, IoError);
  CHECK_THROWS_WITH_AS(Buffer(std::int64_t{1} << 60),
                       "cannot allocate 1152921504606846976 bytes: Cannot allocate memory",
                       IoError);
}

}  // namespace
}  // namespace weft
