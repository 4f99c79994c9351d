#pragma once
// Checks of stage parameters.

#include <initializer_list>
#include <string_view>
#include <utility>

#include "weft/tokenize/vocabulary.h"

namespace weft::stages {

// Throws ValueError if a value is NaN, infinite or beyond the range of float.
void check_finite(std::string_view stage,
                  std::initializer_list<std::pair<std::string_view, double>> values);
// Throws ValueError if the id is negative.
void check_token(std::string_view stage, TokenId id);

}  // namespace weft::stages
