#include "weft/base/keyed_hash.h"

#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace weft {
namespace {

TEST_CASE("equal texts have equal keyed hashes") {
  for (const std::string& text : {std::string(), std::string("a"), std::string(1000, 'x')}) {
    CHECK(KeyedHash()(text) == KeyedHash()(std::string_view(text)));
    CHECK(KeyedHash()(text) != KeyedHash()(text + "y"));
  }
}

// As an author of names would make them, who knows the hash of the standard library.
TEST_CASE("names that share a place by a hash without a key do not share one by the keyed hash") {
  constexpr std::size_t kPlaces = 1024, kNames = 500;
  std::vector<std::string> names;
  for (int i = 0; names.size() < kNames; ++i) {
    std::string name = fmt::format("name{}", i);
    if (std::hash<std::string_view>()(name) % kPlaces == 0) names.push_back(std::move(name));
  }
  std::set<std::size_t> places;
  for (const std::string& name : names) places.insert(KeyedHash()(name) % kPlaces);
  CHECK(places.size() > kNames / 2);  // 393 are expected of a random function, with deviation 9
}

TEST_CASE("foreign maps are searched by views") {
  ForeignMap<std::string, int> map{{"a", 1}};
  CHECK(map.find(std::string_view("a"))->second == 1);
  CHECK(ForeignSet<std::string_view>{"b"}.contains("b"));
}

}  // namespace
}  // namespace weft
