#include "api/knob_fields.h"

#include <fmt/format.h>

namespace weft::api {

std::string alias_doc(std::string_view name) {
  return fmt::format("Another name of {}.", name);
}

}  // namespace weft::api
