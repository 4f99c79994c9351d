#pragma once
// llama-server's own interface, and endpoints that it shares with vLLM and TEI.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/api/endpoints.h"

namespace weft::api {

struct NativeOptions {
  // Folder of saved slots; empty: they cannot be saved. Each owner (ApiCall::owner()) but the one
  // without a name has a folder in it.
  std::string slot_save_path;
  // Bytes of saved slots of a client (an owner without its cache_salt) from which on no more are
  // saved; 0: any number.
  std::int64_t slot_quota = 0;
  bool slots = true;        // GET /slots
  bool post_props = false;  // POST /props
};

std::vector<Endpoint> native_endpoints(const NativeOptions& options);

namespace native {

// Parts of native_endpoints().
std::vector<Endpoint> token_endpoints();       // /tokenize, /detokenize, /apply-template
std::vector<Endpoint> completion_endpoints();  // /completion, /infill
std::vector<Endpoint> rank_endpoints();        // /rerank, /embedding
std::vector<Endpoint> state_endpoints(const NativeOptions& options);  // /props, /lora-adapters
std::vector<Endpoint> slot_endpoints(const NativeOptions& options);   // /slots
}  // namespace native
}  // namespace weft::api
