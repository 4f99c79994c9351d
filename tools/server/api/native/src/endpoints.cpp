#include "weft/native/endpoints.h"

#include <utility>

namespace weft::api {
std::vector<Endpoint> native_endpoints(const NativeOptions& options) {
  std::vector<Endpoint> all;
  for (std::vector<Endpoint>& some : std::vector{
           native::token_endpoints(), native::completion_endpoints(), native::rank_endpoints(),
           native::state_endpoints(options), native::slot_endpoints(options)})
    for (Endpoint& endpoint : some) all.push_back(std::move(endpoint));
  return all;
}

}  // namespace weft::api
