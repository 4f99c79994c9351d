// Reads arbitrary bytes as the body of a request, with the table of each endpoint in turn: the
// first byte chooses. Each body must be read or refused with status 400.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "weft/anthropic/routes.h"
#include "weft/api/errors.h"
#include "weft/api/json.h"
#include "weft/api/routes.h"
#include "weft/native/routes.h"
#include "weft/ollama/routes.h"
#include "weft/openai/routes.h"
#include "weft/responses/routes.h"

namespace {

const std::vector<const weft::api::FieldList*>& tables() {
  static const auto all = [] {
    std::vector<const weft::api::FieldList*> found;
    for (const auto& routes :
         {weft::api::openai_routes(), weft::api::responses_routes(), weft::api::anthropic_routes(),
          weft::api::ollama_routes(), weft::api::native_routes({})})
      for (const weft::api::Route& route : routes)
        if (route.request) found.push_back(route.request);
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
