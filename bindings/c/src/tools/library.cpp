// The library and the machine.

#include <string>
#include <string_view>

#include "weft/arch/builder.h"
#include "weft/backends/backend.h"
#include "weft/backends/plugins.h"
#include "weft/backends/tunables.h"
#include "weft/base/error.h"
#include "weft/base/tuned_values.h"
#include "weft/files/mapping_guard.h"
#include "weft/ops/formats/format.h"
#include "weft/scheduler/budget.h"
#include "weft/scheduler/workers.h"

#include "border/arguments.h"
#include "border/call.h"
#include "border/json.h"
#include "tools/extension.h"

namespace weft::c_api {
namespace {

// A built-in backend; "error" says why it cannot be used.
Json built_in_json(std::string_view name) {
  Json json{{"name", name}, {"description", ""},   {"version", WEFT_VERSION},
            {"path", ""},   {"host_memory", true}, {"memory_bytes", 0},
            {"error", ""}};
  try {
    json["description"] = find_backend(name).description();
  } catch (const Error& e) {
    json["error"] = e.what();
  }
  return json;
}

// A device of a plug-in, which is not opened.
Json device_json(const PluginInfo& info, const BackendDevice& device) {
  return {
      {"name", device.backend},
      {"description", device.name + (device.description.empty() ? "" : ", ") + device.description},
      {"version", info.version},
      {"path", info.path},
      {"host_memory", device.host_memory},
      {"memory_bytes", device.memory_bytes},
      {"error", ""}};
}

Json backends_json() {
  Json list = Json::array();
  for (const std::string_view name : built_in_backends()) list.push_back(built_in_json(name));
  for (const PluginInfo& info : plugins()) {
    if (!info.error.empty())
      list.push_back({{"name", ""}, {"path", info.path}, {"error", info.error}});
    for (const BackendDevice& device : info.devices) list.push_back(device_json(info, device));
  }
  return list;
}

// Null if the cpu backend cannot be used.
Json instruction_set_json() {
  try {
    const std::string_view isa = cpu_backend_isa();
    return isa.empty() ? Json() : Json(isa);
  } catch (const Error&) {  // WEFT_CPU_ISA names none; the backend's "error" says so
    return {};
  }
}

Json formats_json() {
  Json names = Json::array();
  for (const Format* format : all_formats()) names.push_back(format->dtype.name());
  return names;
}

Json about_json() {
  return {{"version", WEFT_VERSION},
          {"api_version", weft_api_version()},
          {"processor", processor_name()},
          {"instruction_set", instruction_set_json()},
          {"instruction_sets", cpu_isas()},
          {"default_workers", default_workers()},
          {"default_budget", default_budget()},
          {"backends", backends_json()},
          {"formats", formats_json()}};
}

}  // namespace
}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_about_json(weft_text* json, weft_error** error) {
  return call(error, [&] { write_text(json, json_text(about_json())); });
}

weft_status weft_guard_mappings(weft_error** error) {
  return call(error, [] { install_mapping_guard(); });
}

weft_status weft_load_backend(const char* path, weft_error** error) {
  return call(error, [&] { load_plugins(std::string(required_text(path, "path"))); });
}

weft_status weft_load_extension(const char* path, weft_error** error) {
  return call(error, [&] { load_extension(std::string(required_text(path, "path"))); });
}

weft_status weft_architectures_json(weft_text* json, weft_error** error) {
  return call(error, [&] {
    Json names = Json::array();
    for (const arch::Architecture* architecture : arch::architectures())
      names.push_back(architecture->name);
    write_text(json, json_text(names));
  });
}
