#pragma once
// Ollama's interface: /api/...

#include <vector>

#include "api/routes.h"

namespace weft::api {

std::vector<Route> ollama_routes();

namespace ollama {
// Parts of ollama_routes().
std::vector<Route> embed_routes();  // /api/embed, /api/embeddings

// A route with a body, for the listed model that it names.
Route post(std::string path, std::string operation, std::string summary, Handle handle,
           const FieldList& request);
}  // namespace ollama

}  // namespace weft::api
