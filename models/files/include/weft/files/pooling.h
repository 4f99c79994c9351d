#pragma once
// How the vectors of a text's tokens become one: names and numbers, as files have them.
// Source: sentence-transformers, modules/pooling.py; the numbers are llama.cpp's.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

// The numbers up to `rank` are those of the key ARCH.pooling_type. The others have none.
// pooling_kinds() describes each.
enum class Pooling : std::uint8_t {
  none = 0,
  mean = 1,
  cls = 2,
  last = 3,
  rank = 4,
  max = 5,
  mean_sqrt_len = 6,
  weighted_mean = 7,
};

struct PoolingKind {
  Pooling pooling;
  std::string_view name;     // "weighted_mean"
  std::string_view meaning;  // "the mean with weights 1, 2, ..., n"
};
std::span<const PoolingKind> pooling_kinds();  // in the order of their numbers

std::string_view to_string(Pooling pooling);
std::vector<std::string> pooling_names();
// "none: a vector per token; mean: ..", for help texts.
std::string pooling_help();

// One pooling, or several whose vectors are concatenated in this order.
class Poolings {
 public:
  Poolings(Pooling one) : modes_{one} {}  // NOLINT(google-explicit-constructor): a list of one
  // REQUIRES: `modes` is not empty, and has neither `none` nor `rank` beside others.
  explicit Poolings(std::vector<Pooling> modes) : modes_(std::move(modes)) {}

  std::span<const Pooling> modes() const { return modes_; }
  friend bool operator==(const Poolings&, const Poolings&) = default;

 private:
  std::vector<Pooling> modes_;
};
std::string to_string(const Poolings& poolings);  // "cls+max"

// The opposite of to_string(); nullopt for unknown names, and for `none` and `rank` beside others.
std::optional<Poolings> find_poolings(std::string_view text);

}  // namespace weft
