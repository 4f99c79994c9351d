#include "interfaces.h"

#include <algorithm>
#include <iterator>

#include "weft/anthropic/routes.h"
#include "weft/ollama/routes.h"
#include "weft/openai/routes.h"
#include "weft/responses/routes.h"

namespace weft::server {

std::vector<api::Route> interface_routes(const api::NativeOptions& native) {
  std::vector<api::Route> all;
  const auto add = [&all](std::vector<api::Route> more) {
    std::ranges::move(more, std::back_inserter(all));
  };
  add(api::openai_routes());
  add(api::responses_routes());
  add(api::anthropic_routes());
  add(api::ollama_routes());
  add(api::native_routes(native));
  return all;
}

}  // namespace weft::server
