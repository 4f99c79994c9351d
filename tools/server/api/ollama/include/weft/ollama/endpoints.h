#pragma once
// Ollama's interface: /api/...

#include <vector>

#include "weft/api/endpoints.h"

namespace weft::api {

std::vector<Endpoint> ollama_endpoints();

namespace ollama {
// Parts of ollama_endpoints().
std::vector<Endpoint> embed_endpoints();  // /api/embed, /api/embeddings
}  // namespace ollama

}  // namespace weft::api
