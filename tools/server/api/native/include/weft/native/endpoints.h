#pragma once
// llama-server's own interface, and endpoints that it shares with vLLM and TEI.

#include <memory>
#include <string>
#include <vector>

#include "weft/api/endpoints.h"

namespace weft::api {

struct NativeOptions {
  std::string slot_save_path;  // folder of saved slots; empty: they cannot be saved
  bool slots = true;           // GET /slots
  bool post_props = false;     // POST /props
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
