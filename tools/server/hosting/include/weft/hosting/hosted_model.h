#pragma once
// A model that a server may load.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::server {

struct HostedModel {
  std::string path;
  std::vector<std::string> names;  // the first one is listed
  // In place of --ctx-size and --parallel.
  std::optional<std::int64_t> context = {};
  std::optional<int> slots = {};
  bool preload = false;  // load it when the server starts
};

}  // namespace weft::server
