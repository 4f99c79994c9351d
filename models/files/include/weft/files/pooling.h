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
enum class Pooling : std::uint8_t {
  none = 0,           // a vector per token
  mean = 1,           // of all n tokens
  cls = 2,            // the first token
  last = 3,           // the last token
  rank = 4,           // the outputs of the model's classifier: scores, not a vector
  max = 5,            // the maximum of each dimension
  mean_sqrt_len = 6,  // the sum of all tokens / sqrt(n)
  weighted_mean = 7,  // the mean with weights 1, 2, ..., n
};
std::string_view to_string(Pooling pooling);  // "weighted_mean"
std::span<const std::string_view> pooling_names();

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
