#include "weft/backends/backend.h"
#include "weft/graph/error.h"

namespace weft {

std::span<const Backend* const> all_backends() {
  static const Backend* const backends[] = {&cpu_backend(), &reference_backend()};
  return backends;
}

const Backend& find_backend(std::string_view name) {
  std::string known;
  for (const Backend* backend : all_backends()) {
    if (backend->name() == name) return *backend;
    known += (known.empty() ? "" : ", ") + std::string(backend->name());
  }
  fail<ValueError>("no backend is called '{}'; known: {}", name, known);
}

}  // namespace weft
