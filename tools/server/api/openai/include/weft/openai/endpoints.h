#pragma once
// The endpoints of OpenAI's interface, one function each.

#include <vector>

namespace weft::api {

struct Endpoint;

// All of them.
std::vector<Endpoint> openai_endpoints();

Endpoint chat_completions_endpoint();
Endpoint completions_endpoint();
Endpoint embeddings_endpoint();
Endpoint models_endpoint();
Endpoint model_endpoint();

}  // namespace weft::api
