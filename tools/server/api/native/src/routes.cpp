#include "weft/native/routes.h"

#include <utility>

namespace weft::api {
std::vector<Route> native_routes(const NativeOptions& options) {
  std::vector<Route> all;
  for (std::vector<Route>& some :
       std::vector{native::token_routes(), native::completion_routes(), native::rank_routes(),
                   native::state_routes(options), native::slot_routes(options)})
    for (Route& route : some) all.push_back(std::move(route));
  return all;
}

}  // namespace weft::api
