#pragma once
// JSON as schemas need it: members in the order of the text, numbers with all digits.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/base/keyed_hash.h"

namespace weft::grammar {

using JsonId = std::uint32_t;

struct JsonNode {
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };
  Kind kind = Kind::null;
  bool truth = false;
  std::string text;                // a string in UTF-8, or a number as written
  std::vector<JsonId> items;       // the elements of an array, or the values of an object
  std::vector<std::string> names;  // the names of an object, one for each item
  JsonId parent = 0;
  std::uint32_t index = 0;  // among the items of the parent
};

class JsonTree {
 public:
  // Throws FormatError with line and column, also for duplicate names in an object, for unpaired
  // surrogates, and for values that are nested more than 1000 deep.
  explicit JsonTree(std::string_view text);
  JsonTree(const JsonTree&) = delete;
  JsonTree& operator=(const JsonTree&) = delete;

  const JsonNode& operator[](JsonId id) const { return nodes_[id]; }
  static constexpr JsonId kRoot = 0;
  static constexpr JsonId kNone = ~JsonId{0};
  // kNone if it is absent. Takes constant time.
  JsonId find(JsonId object, std::string_view name) const;
  std::string pointer(JsonId id) const;  // "#/properties/a"
  std::size_t size() const { return nodes_.size(); }

 private:
  friend class JsonReader;
  std::vector<JsonNode> nodes_;
  // Of objects with many names: their items by name.
  std::unordered_map<JsonId, ForeignMap<std::string_view, JsonId>> by_name_;
};

// A number as sign, digits and the power of ten of the last digit: no zeros at either end; zero has
// no digits.
struct Decimal {
  bool negative = false;
  std::string digits;
  long long exponent = 0;

  static Decimal of(std::string_view number);  // REQUIRES: a JSON number
  bool zero() const { return digits.empty(); }
  bool whole() const { return exponent >= 0; }
  // Digits before and after the point, without sign; the whole part is "0" if there is none.
  std::string whole_part() const;
  std::string fraction() const;
  std::string text() const;  // -12.5
  bool operator==(const Decimal&) const = default;
  Decimal operator-() const;
};
// Negative, zero, positive.
int compare(const Decimal& a, const Decimal& b);

std::u32string code_points(std::string_view utf8);

}  // namespace weft::grammar
