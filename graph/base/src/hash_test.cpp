#include "weft/base/hash.h"

#include <doctest/doctest.h>

namespace weft {
namespace {

template <class Hash>
auto hash_of(std::string_view text) {
  Hash hash;
  hash.add(text);
  return hash.value();
}

// Source: the test vectors of the draft, and of http://www.isthe.com/chongo/tech/comp/fnv
TEST_CASE("FNV-1a hashes as its authors do") {
  CHECK(hash_of<Fnv1a32>("") == 0x811c9dc5);
  CHECK(hash_of<Fnv1a32>("a") == 0xe40c292c);
  CHECK(hash_of<Fnv1a32>("foobar") == 0xbf9cf968);
  CHECK(hash_of<Fnv1a64>("") == 0xcbf29ce484222325);
  CHECK(hash_of<Fnv1a64>("a") == 0xaf63dc4c8601ec8c);
  CHECK(hash_of<Fnv1a64>("foobar") == 0x85944171f73967e8);
}

TEST_CASE("a hash of parts is the hash of the whole, as text or as bytes") {
  Fnv1a64 parts;
  parts.add("foo");
  parts.add(std::as_bytes(std::span<const char>("bar", 3)));
  CHECK(parts.value() == hash_of<Fnv1a64>("foobar"));
}

}  // namespace
}  // namespace weft
