#pragma once
// llama-server's own interface, and endpoints that it shares with vLLM and TEI.

#include <memory>
#include <string>
#include <vector>

#include "weft/api/routes.h"

namespace weft::api {

struct NativeOptions {
  std::string slot_save_path;  // folder of saved slots; empty: they cannot be saved
  bool slots = true;           // GET /slots
  bool post_props = false;     // POST /props
};

std::vector<Route> native_routes(const NativeOptions& options);

namespace native {

// Parts of native_routes().
std::vector<Route> token_routes();       // /tokenize, /detokenize, /apply-template
std::vector<Route> completion_routes();  // /completion, /infill
std::vector<Route> rank_routes();        // /rerank, /embedding
std::vector<Route> state_routes(const NativeOptions& options);  // /props, /lora-adapters
std::vector<Route> slot_routes(const NativeOptions& options);   // /slots
}  // namespace native
}  // namespace weft::api
