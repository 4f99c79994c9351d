#include "serve/interfaces.h"

#include <algorithm>
#include <iterator>

#include "api/anthropic/routes.h"
#include "api/ollama/routes.h"
#include "api/openai.h"
#include "api/responses/routes.h"

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
