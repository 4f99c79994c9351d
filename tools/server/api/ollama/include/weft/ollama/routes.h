#pragma once
// Ollama's interface: /api/...

#include <vector>

#include "weft/api/routes.h"

namespace weft::api {

std::vector<Route> ollama_routes();

namespace ollama {
// Parts of ollama_routes().
std::vector<Route> embed_routes();  // /api/embed, /api/embeddings
}  // namespace ollama

}  // namespace weft::api
