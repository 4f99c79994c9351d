#include "weft/openai/routes.h"

#include "weft/api/routes.h"

namespace weft::api {

std::vector<Route> openai_routes() {
  return {chat_completions_route(), completions_route(), embeddings_route(), models_route(),
          model_route()};
}

}  // namespace weft::api
