#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/ranges.h>

#include "weft/backends/backend.h"
#include "weft/backends/plugins.h"
#include "weft/base/error.h"

namespace weft {
namespace {

// The names are listed so that finding one backend does not initialize another: cpu_backend()
// throws if WEFT_CPU_ISA is wrong.
struct Entry {
  std::string_view name;
  const Backend& (*get)();
};
constexpr Entry kEntries[] = {{"cpu", cpu_backend}, {"reference", reference_backend}};

constexpr auto kNames = [] {
  std::array<std::string_view, std::size(kEntries)> names;
  std::ranges::transform(kEntries, names.begin(), &Entry::name);
  return names;
}();

}  // namespace

std::span<const std::string_view> built_in_backends() {
  return kNames;
}

std::span<const Backend* const> all_backends() {
  static const auto backends = [] {
    std::array<const Backend*, std::size(kEntries)> all;
    std::ranges::transform(kEntries, all.begin(), [](const Entry& e) { return &e.get(); });
    return all;
  }();
  return backends;
}

const Backend& find_backend(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry.get();
  }
  constexpr std::string_view kOneIsa = "cpu:";
  if (name.starts_with(kOneIsa) && name.size() > kOneIsa.size())
    return cpu_backend(name.substr(kOneIsa.size()));
  if (const Backend* backend = find_plugin(name)) return *backend;
  std::string broken;
  for (const PluginInfo& info : plugins()) {
    if (!info.error.empty()) broken += "; " + info.error;
  }
  fail<ValueError>("unknown backend '{}' (known: {}){}", name, fmt::join(backend_names(), ", "),
                   broken);
}

}  // namespace weft
