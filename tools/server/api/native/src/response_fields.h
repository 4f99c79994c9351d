#pragma once
// The field response_fields of /completion.

#include <span>
#include <string>
#include <string_view>

namespace weft::api::native {

// The members of a JSON object that the paths ("timings/prompt_ms") name, each with its path as the
// name. Those that it does not have are left out.
std::string selected_members(std::string_view json, std::span<const std::string> paths);

}  // namespace weft::api::native
