// Reads arbitrary bytes as the body of a request, with the table of each endpoint in turn: the
// first byte chooses. Each body must be read or refused with status 400.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "weft/anthropic/endpoints.h"
#include "weft/api/endpoints.h"
#include "weft/api/errors.h"
#include "weft/api/json.h"
#include "weft/native/endpoints.h"
#include "weft/ollama/endpoints.h"
#include "weft/openai/endpoints.h"
#include "weft/responses/endpoints.h"

namespace {

const std::vector<const weft::api::FieldList*>& tables() {
  static const auto all = [] {
    std::vector<const weft::api::FieldList*> found;
    for (const auto& endpoints : {weft::api::openai_endpoints(), weft::api::responses_endpoints(),
                                  weft::api::anthropic_endpoints(), weft::api::ollama_endpoints(),
                                  weft::api::native_endpoints({})})
      for (const weft::api::Endpoint& endpoint : endpoints)
        if (endpoint.request) found.push_back(endpoint.request);
    return found;
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    tables()[data[0] % tables().size()]->check(weft::api::parse_body(body));
  } catch (const weft::api::ApiError& error) {
    if (error.status != 400) std::abort();
    weft::api::parse_json(weft::api::error_body(error, weft::api::ErrorForm::openai));
  }
  return 0;
}
