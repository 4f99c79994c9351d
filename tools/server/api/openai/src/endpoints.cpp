#include "weft/openai/endpoints.h"

#include "weft/api/endpoints.h"

namespace weft::api {

std::vector<Endpoint> openai_endpoints() {
  return {chat_completions_endpoint(), completions_endpoint(), embeddings_endpoint(),
          models_endpoint(), model_endpoint()};
}

}  // namespace weft::api
