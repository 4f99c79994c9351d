#include "serve/interfaces.h"

#include <algorithm>
#include <iterator>

namespace weft::server {

std::vector<api::Route> interface_routes(api::Services& services) {
  std::vector<api::Route> all;
  for (const auto routes_of : {api::openai_routes})
    std::ranges::move(routes_of(services), std::back_inserter(all));
  return all;
}

}  // namespace weft::server
