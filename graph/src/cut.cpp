#include "weft/graph/cut.h"

namespace weft {

std::optional<Cut> Cut::scaled(int to_axis, std::int64_t times, std::int64_t over) const {
  Cut result = moved(to_axis);
  for (std::int64_t& end : result.ends) {
    if (end * times % over != 0) return std::nullopt;
    end = end * times / over;
  }
  return result;
}

}  // namespace weft
