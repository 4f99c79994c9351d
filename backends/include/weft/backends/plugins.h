#pragma once
// Backends from shared libraries (abi.h says what such a library exports). A library is never
// unloaded: kernels, plans and sessions may hold what it made. A library that cannot be used is
// remembered with the reason, so that looking for others can go on.

#include <string>
#include <string_view>
#include <vector>

#include "weft/backends/backend.h"

namespace weft {

struct BackendDevice {
  std::string backend;  // what --backend takes: "opencl", "opencl:1" for the second device
  std::string name, description;
  std::int64_t memory_bytes = 0;  // 0: unknown
  bool host_memory = false;       // computes in the host's memory
};

struct PluginInfo {
  std::string path;
  std::string error;  // why it cannot be used; the rest is empty then
  std::string name, version, description;
  std::vector<BackendDevice> devices;
};

// Loads a library, or all files of a folder whose names end in ".so", by name. A library that was
// loaded is not loaded again. Throws IoError where nothing is there, and, for a single file,
// UnsupportedError with the reason why it cannot be used.
void load_plugins(const std::string& path);

// What was loaded so far and from WEFT_BACKEND_PATH (files and folders with colons between them),
// which is read at the first look for a backend that is not built in.
std::vector<PluginInfo> plugins();

// The backend of a plug-in; null where none has this name. Opens its device. Throws Error where the
// device cannot be opened.
const Backend* find_plugin(std::string_view name);

// "cpu", "reference", "opencl", ...: what find_backend() takes.
std::vector<std::string> backend_names();

}  // namespace weft
