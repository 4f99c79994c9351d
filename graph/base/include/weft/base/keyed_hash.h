#pragma once
// Hashes for tables of foreign texts: names in requests and files, tokens. They depend on a secret
// that is random for each process, so that nobody can make texts that collide, with which a table
// would take quadratic time. Nothing may depend on the order of such a table, and the hashes must
// not be stored. XXH3 with a secret (https://xxhash.com).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace weft {

// Any thread.
std::uint64_t keyed_hash(std::string_view bytes);

struct KeyedHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return keyed_hash(text); }
};

// `Text` is std::string or std::string_view.
template <class Text, class Value>
using ForeignMap = std::unordered_map<Text, Value, KeyedHash, std::equal_to<>>;
template <class Text>
using ForeignSet = std::unordered_set<Text, KeyedHash, std::equal_to<>>;

}  // namespace weft
