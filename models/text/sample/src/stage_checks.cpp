#include "stage_checks.h"

#include <cmath>
#include <limits>

#include "weft/base/error.h"

namespace weft::stages {

void check_finite(std::string_view stage,
                  std::initializer_list<std::pair<std::string_view, double>> values) {
  for (const auto& [name, value] : values) {
    if (!(std::abs(value) <= std::numeric_limits<float>::max()))
      fail<ValueError>("sampler stage '{}': {} must be a finite number, got {}", stage, name,
                       value);
  }
}

void check_token(std::string_view stage, TokenId id) {
  if (id < 0) fail<ValueError>("sampler stage '{}': {} is not a token id", stage, id);
}

}  // namespace weft::stages
