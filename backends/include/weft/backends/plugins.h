#pragma once
// Backends from shared libraries (abi.h defines what they export). A library is never unloaded,
// because kernels, plans and sessions may refer to it. A library that cannot be used is recorded
// with the reason, and the search continues.

#include <string>
#include <string_view>
#include <vector>

#include "weft/backends/backend.h"

namespace weft {

struct BackendDevice {
  std::string backend;  // the name for --backend: "opencl", or "opencl:1" for the second device
  std::string name, description;
  std::int64_t memory_bytes = 0;  // 0: unknown
  bool host_memory = false;       // computes in the host's memory
};

struct PluginInfo {
  std::string path;
  std::string error;  // why it cannot be used; the members below are then empty
  std::string name, version, description;
  std::vector<BackendDevice> devices;
};

// Loads a library, or all files of a folder whose names end in ".so", in alphabetical order. Does
// not load a library again. Throws IoError if the path does not exist, and UnsupportedError if it
// is a single library that cannot be used.
void load_plugins(const std::string& path);

// All libraries loaded so far, including those of WEFT_BACKEND_PATH (files and folders, separated
// by colons), which is read when a backend that is not built in is first needed.
std::vector<PluginInfo> plugins();

// The backend of a plug-in; null if none has this name. Opens its device. Throws Error if the
// device cannot be opened.
const Backend* find_plugin(std::string_view name);

// The names that find_backend() accepts: "cpu", "reference", "opencl", ...
std::vector<std::string> backend_names();

}  // namespace weft
