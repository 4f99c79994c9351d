#include "interfaces.h"

#include <algorithm>
#include <iterator>

#include "weft/anthropic/endpoints.h"
#include "weft/ollama/endpoints.h"
#include "weft/openai/endpoints.h"
#include "weft/responses/endpoints.h"

namespace weft::server {

std::vector<api::Endpoint> interface_endpoints(const api::NativeOptions& native) {
  std::vector<api::Endpoint> all;
  const auto add = [&all](std::vector<api::Endpoint> more) {
    std::ranges::move(more, std::back_inserter(all));
  };
  add(api::openai_endpoints());
  add(api::responses_endpoints());
  add(api::anthropic_endpoints());
  add(api::ollama_endpoints());
  add(api::native_endpoints(native));
  return all;
}

}  // namespace weft::server
