#pragma once
// The endpoints of OpenAI's interface, one function each.

#include <vector>

namespace weft::api {

struct Route;

// All of them.
std::vector<Route> openai_routes();

Route chat_completions_route();
Route completions_route();
Route embeddings_route();
Route models_route();
Route model_route();

}  // namespace weft::api
