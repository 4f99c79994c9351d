#pragma once
// Keys of files with their values.

#include <string>
#include <utility>
#include <vector>

#include "weft/arch/made_source.h"
#include "weft/weft.h"

namespace weft::c_api {

// Keys for a made-up model. Throws ValueError for names that are NULL or empty, texts that are NULL
// and unknown kinds.
std::vector<std::pair<std::string, arch::MadeSource::Value>> made_keys(const weft_value* keys,
                                                                       std::size_t n);

}  // namespace weft::c_api
