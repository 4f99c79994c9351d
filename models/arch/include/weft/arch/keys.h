#pragma once
// Reads the keys "ARCH.*" of a model file and checks their ranges. Numbers from files are untrusted
// until they are checked. Messages name the file, the key, its value and what is allowed.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/arch/model_source.h"
#include "weft/base/error.h"

namespace weft::arch {

// Names of keys are given without the architecture: "block_count". Reads throw FormatError "FILE:
// key 'llama.block_count' is 0, must be 1..4096" for values out of range. Copies are cheap and
// refer to the source.
class Keys {
 public:
  // REQUIRES: both outlive the keys.
  Keys(const ModelSource& source, std::string_view arch) : source_(&source), arch_(arch) {}

  const ModelSource& source() const { return *source_; }
  std::string_view arch() const { return arch_; }
  std::string name(std::string_view key) const;  // "llama.block_count"

  // A whole number in 1..max; count() throws FormatError if it is absent.
  std::optional<std::int64_t> find_count(std::string_view key, std::int64_t max) const;
  std::int64_t count(std::string_view key, std::int64_t max) const;
  std::int64_t count_or(std::string_view key, std::int64_t max, std::int64_t fallback) const;

  // A whole number in min..max.
  std::int64_t size_or(std::string_view key, std::int64_t min, std::int64_t max,
                       std::int64_t fallback) const;

  // A whole number in min..max for each of L layers: the key's list of L numbers, or its single
  // number L times. Empty if the key is absent.
  std::vector<std::int64_t> find_counts(std::string_view key, std::int64_t L, std::int64_t min,
                                        std::int64_t max) const;

  // A number in min..max; number() throws FormatError if it is absent.
  std::optional<float> find_number(std::string_view key, double min, double max) const;
  float number(std::string_view key, double min, double max) const;
  float number_or(std::string_view key, double min, double max, float fallback) const;
  bool flag_or(std::string_view key, bool fallback) const;

  [[noreturn]] void missing(std::string_view key) const;
  template <class T>
  [[noreturn]] void refuse(std::string_view key, T value, std::string_view allowed) const {
    fail<FormatError>("{}: key '{}' is {}, must be {}", source_->file(), name(key), value, allowed);
  }

 private:
  std::int64_t in_range(std::string_view key, std::int64_t value, std::int64_t min,
                        std::int64_t max) const;

  const ModelSource* source_;
  std::string_view arch_;
};

}  // namespace weft::arch
