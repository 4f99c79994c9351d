#include "weft/backends/plugins.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <mutex>

#include "weft/base/error.h"
#include "weft/base/library.h"
#include "weft/base/no_destructor.h"

#include "plugin/plugin_backend.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::int32_t kMaxPluginDevices = 64;
constexpr std::size_t kMaxPluginFiles = 256;  // per folder; more is likely a mistake

struct Plugin {
  PluginInfo info;
  std::unique_ptr<const weft_backend> table;                   // null: it cannot be used
  std::vector<std::unique_ptr<plugin::PluginBackend>> opened;  // by device; null until first asked
};

struct Registry {
  std::recursive_mutex mutex;
  std::deque<Plugin> libraries;  // backends stay where they are
  bool environment_read = false;
};

// Never destroyed: backends outlive every static that may use them.
Registry& registry() {
  static NoDestructor<Registry> all;
  return *all;
}

bool is_name(std::string_view name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; };
  return !name.empty() && name.size() <= 32 && std::ranges::all_of(name, fits);
}

// Functions that every backend needs, and those for devices with their own memory.
std::string missing_functions(const weft_backend& t, bool host_memory) {
  return weft::missing_functions({{t.last_error, "last_error"},
                                  {t.n_devices, "n_devices"},
                                  {t.device_info, "device_info"},
                                  {t.device_open, "device_open"},
                                  {t.supports, "supports"},
                                  {t.prepare, "prepare"},
                                  {t.run, "run"},
                                  {t.program_destroy, "program_destroy"},
                                  {host_memory || t.buffer_create, "buffer_create"},
                                  {host_memory || t.buffer_destroy, "buffer_destroy"},
                                  {host_memory || t.queue_create, "queue_create"},
                                  {host_memory || t.queue_finish, "queue_finish"},
                                  {host_memory || t.upload, "upload"},
                                  {host_memory || t.download, "download"}});
}

// Later headers append members to the table: those that a library lacks are null.
std::unique_ptr<const weft_backend> table_of(const std::string& path) {
  constexpr std::size_t kFirstHeader =
      offsetof(weft_backend, program_destroy) + sizeof(weft_backend::program_destroy);
  const auto& table = load_table<weft_backend>(
      Library::load(path), path,
      {WEFT_ABI_ENTRY, WEFT_ABI_VERSION, "a Weft backend", "the backend ABI", kFirstHeader});
  auto known = std::make_unique<weft_backend>();
  std::memcpy(known.get(), &table, std::min<std::size_t>(table.struct_size, sizeof(*known)));
  return known;
}

void check_name(const Registry& all, const std::string& path, std::string_view name) {
  if (!is_name(name)) {
    fail<UnsupportedError>("{}: its name must be 1 to 32 letters, digits, '_' and '-'", path);
  }
  bool taken = name == "host";  // used in paths of copies: "blk.0.attn_norm.to_host"
  for (const std::string_view built_in : built_in_backends()) taken |= built_in == name;
  for (const Plugin& library : all.libraries) taken |= library.table && library.info.name == name;
  if (taken) fail<UnsupportedError>("{}: a backend '{}' already exists", path, name);
}

void read_devices(const std::string& path, const weft_backend& table, PluginInfo& info) {
  const std::int32_t n = table.n_devices();
  if (n < 0 || n > kMaxPluginDevices)
    fail<UnsupportedError>("{}: invalid number of devices: {}", path, n);
  for (std::int32_t i = 0; i < n; ++i) {
    weft_device_info device{};
    device.struct_size = sizeof(device);
    const std::string name = i == 0 ? info.name : fmt::format("{}:{}", info.name, i);
    if (const weft_status status = table.device_info(i, &device); status != WEFT_OK)
      plugin::fail_call(table, name, "asking for its device", status);
    device.name[sizeof(device.name) - 1] = device.description[sizeof(device.description) - 1] = 0;
    const bool host = (device.flags & WEFT_DEVICE_HOST_MEMORY) != 0;
    if (const std::string missing = missing_functions(table, host); !missing.empty())
      fail<UnsupportedError>("{}: lacks {}", path, missing);
    info.devices.push_back({name, device.name, device.description, device.memory_bytes, host});
  }
}

Plugin open_library(const Registry& all, const std::string& path) {
  Plugin library{.info = {.path = path}};
  library.table = table_of(path);
  const weft_backend& table = *library.table;
  if (const std::string missing = missing_functions(table, true); !missing.empty())
    fail<UnsupportedError>("{}: lacks {}", path, missing);
  PluginInfo& info = library.info;
  const auto text = [](const char* s) { return std::string(s ? s : ""); };
  check_name(all, path, text(table.name));
  info.name = table.name;
  info.version = text(table.version);
  info.description = text(table.description);
  read_devices(path, table, info);
  library.opened.resize(info.devices.size());
  return library;
}

// Throws if `must` and it cannot be used.
void load_file(Registry& all, const fs::path& file, bool must) {
  std::error_code ignored;
  for (const Plugin& library : all.libraries) {
    if (!fs::equivalent(library.info.path, file, ignored)) continue;
    if (must && !library.table) throw UnsupportedError(library.info.error);
    return;
  }
  try {
    all.libraries.push_back(open_library(all, file.string()));
  } catch (const Error& error) {
    all.libraries.push_back({.info = {.path = file.string(), .error = error.what()}});
    if (must) throw;
  }
}

void load(Registry& all, const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail<IoError>("{}: cannot find a backend: {}", path, error.message());
  if (!fs::is_directory(status)) return load_file(all, path, true);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() == ".so") files.push_back(entry.path());
  }
  if (error) fail<IoError>("{}: cannot be listed: {}", path, error.message());
  if (files.size() > kMaxPluginFiles)
    fail<ValueError>("{}: has {} libraries, expected at most {}", path, files.size(),
                     kMaxPluginFiles);
  std::ranges::sort(files);
  for (const fs::path& file : files) load_file(all, file, false);
}

// Paths that are not there are remembered like libraries that cannot be used: nobody typed them
// now.
void read_environment(Registry& all) {
  if (std::exchange(all.environment_read, true)) return;
  const char* value = std::getenv("WEFT_BACKEND_PATH");
  std::string_view rest = value ? value : "";
  while (!rest.empty()) {
    const std::string path(rest.substr(0, rest.find(':')));
    rest.remove_prefix(std::min(rest.size(), path.size() + 1));
    if (path.empty()) continue;
    try {
      load(all, path);
    } catch (const UnsupportedError&) {  // remembered
    } catch (const Error& error) {
      all.libraries.push_back({.info = {.path = path, .error = error.what()}});
    }
  }
}

}  // namespace

void load_plugins(const std::string& path) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  load(all, path);
}

std::vector<PluginInfo> plugins() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  read_environment(all);
  std::vector<PluginInfo> infos;
  for (const Plugin& library : all.libraries) infos.push_back(library.info);
  return infos;
}

const Backend* find_plugin(std::string_view name) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  read_environment(all);
  for (Plugin& library : all.libraries) {
    if (library.table && library.info.devices.empty() && library.info.name == name)
      fail<UnsupportedError>("backend {}: finds no device on this machine", name);
    for (std::size_t i = 0; i < library.info.devices.size(); ++i) {
      const BackendDevice& device = library.info.devices[i];
      if (device.backend != name) continue;
      auto& opened = library.opened[i];
      if (!opened) {
        opened = std::make_unique<plugin::PluginBackend>(
            *library.table, static_cast<std::int32_t>(i), device.backend);
      }
      return opened.get();
    }
  }
  return nullptr;
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names(built_in_backends().begin(), built_in_backends().end());
  for (const PluginInfo& info : plugins()) {
    for (const BackendDevice& device : info.devices) names.push_back(device.backend);
  }
  return names;
}

}  // namespace weft
