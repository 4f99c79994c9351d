#include "weft/base/checksum.h"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace weft {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST_CASE("checksums are those of XXH3") {
  // From the reference implementation's xxh64sum -H3.
  CHECK(checksum({}) == 0x2d06800538d394c2);
  CHECK(checksum(bytes_of("a")) == 0xe6c632b61e964e1f);
  CHECK(checksum(bytes_of("abc")) == 0x78af5f94892f3950);
}

TEST_CASE("a checksum does not depend on where its bytes are cut") {
  const std::string text(2000, 'x');
  const std::uint64_t whole = checksum(bytes_of(text));
  for (const std::size_t cut : {0, 1, 255, 256, 257, 1024, 1999, 2000}) {
    Checksum sum;
    sum.add(bytes_of(text).first(cut));
    CHECK(sum.value() == checksum(bytes_of(text).first(cut)));
    sum.add(bytes_of(text).subspan(cut));
    CHECK(sum.value() == whole);
  }
}

}  // namespace
}  // namespace weft
