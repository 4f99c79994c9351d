#include "api/native/routes.h"

#include <utility>

namespace weft::api {
namespace native {

Route post(std::string path, std::string operation, std::string summary, Handle handle,
           const FieldList& request) {
  Route route;
  route.method = "POST";
  route.path = std::move(path);
  route.operation = std::move(operation);
  route.summary = std::move(summary);
  route.handle = std::move(handle);
  route.request = &request;
  route.model = ModelUse::named;
  return route;
}

}  // namespace native

std::vector<Route> native_routes(const NativeOptions& options) {
  std::vector<Route> all;
  for (std::vector<Route>& some :
       std::vector{native::token_routes(), native::completion_routes(), native::rank_routes(),
                   native::state_routes(options), native::slot_routes(options)})
    for (Route& route : some) all.push_back(std::move(route));
  return all;
}

}  // namespace weft::api
