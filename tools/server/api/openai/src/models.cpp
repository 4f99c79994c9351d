// GET /v1/models and /v1/models/{id}, in OpenAI's form, or in Anthropic's for its clients.

#include <nlohmann/json.hpp>

#include "weft/api/endpoints.h"
#include "weft/api/errors.h"
#include "weft/api/json.h"
#include "weft/api/listed_model.h"
#include "weft/api/page.h"
#include "weft/openai/endpoints.h"
#include "weft/run/model.h"

namespace weft::api {
namespace {

Json model_json(const ListedModel& listed) {
  Json json{{"id", listed.name},         {"object", "model"},
            {"created", listed.created}, {"owned_by", "weft"},
            {"aliases", listed.aliases}, {"status", {{"value", listed.status}}}};
  if (!listed.loaded || !listed.loaded->model) return json;
  const ServedModel& model = *listed.loaded;
  const ModelFacts& facts = model.model->facts();
  const std::int64_t context = model.texts->context();
  json["max_model_len"] = context;
  json["meta"] = {{"n_ctx", context},
                  {"n_ctx_train", facts.context},
                  {"n_params", facts.n_params},
                  {"n_embd", facts.n_embd},
                  {"n_vocab", facts.n_vocab},
                  {"size", facts.weight_bytes},
                  {"architecture", facts.architecture}};
  return json;
}

Json anthropic_model(const ListedModel& listed) {
  return {{"type", "model"},
          {"id", listed.name},
          {"display_name", listed.name},
          {"created_at", utc_time(listed.created)}};
}

Json anthropic_list(const std::vector<ListedModel>& models, const http::RequestHead& head) {
  Json all = Json::array();
  for (const ListedModel& model : models) all.push_back(anthropic_model(model));
  return page_of(std::move(all), head,
                 {.after = "after_id", .before = "before_id", .max_limit = 1000});
}

void list_models(const std::shared_ptr<ApiCall>& call) {
  if (wants_anthropic_form(call->request()))
    return call->reply(to_text(anthropic_list(call->services.models.list(), call->request())));
  Json all = Json::array();
  for (const ListedModel& model : call->services.models.list()) all.push_back(model_json(model));
  call->reply(to_text({{"object", "list"}, {"data", std::move(all)}}));
}

void get_model(const std::shared_ptr<ApiCall>& call) {
  for (const ListedModel& model : call->services.models.list())
    if (has_name(model, call->parameter))
      return call->reply(to_text(wants_anthropic_form(call->request()) ? anthropic_model(model)
                                                                       : model_json(model)));
  throw model_not_found(call->parameter);
}

}  // namespace

Endpoint models_endpoint() {
  Endpoint endpoint =
      plain_endpoint("GET", "/v1/models", "listModels", "The models that are served", list_models);
  endpoint.aliases = {"/models"};
  return endpoint;
}

Endpoint model_endpoint() {
  return plain_endpoint("GET", "/v1/models/{id}", "getModel", "One of the models", get_model);
}

}  // namespace weft::api
