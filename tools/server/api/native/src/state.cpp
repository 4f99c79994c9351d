// /props, /lora-adapters.

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

#include <nlohmann/json.hpp>

#include "weft/adapters/adapters.h"
#include "weft/api/forms.h"
#include "weft/api/generation_fields.h"
#include "weft/api/json.h"
#include "weft/api/json_text.h"
#include "weft/base/ledger.h"
#include "weft/native/endpoints.h"
#include "weft/run/session_knobs.h"
#include "weft/scheduler/workers.h"
#include "weft/tokenize/vocabulary.h"

#include "lora_scales.h"
#include "settings.h"

namespace weft::api::native {
namespace {

std::string token_text(const Vocabulary& vocabulary, TokenId id) {
  return id == kNoToken || !vocabulary.has_texts() ? "" : std::string(vocabulary.text(id));
}

std::string default_settings(const ServedModel& model) {
  const TextRequest request = text_request(model, initial_generation(model), {0}, -1, "prompt");
  std::optional<std::uint64_t> seed;
  if (!model.random_seed) seed = model.sampler.seed;
  return JsonObject()
      .add("id", 0)
      .add("id_task", -1)
      .add("n_ctx", model.texts->context())
      .add("is_processing", false)
      .add_json("params", with_seed(settings_json(request, model.dry_breakers), seed))
      .str();
}

// What the process takes beside the plans of models.
std::string taken_json() {
  const Ledger& ledger = process_ledger();
  JsonArray accounts;
  for (const Ledger::Line& line : ledger.lines())
    accounts.add_json(JsonObject()
                          .add("name", to_string(line.account))
                          .add("bytes", line.used)
                          .add("peak", line.peak)
                          .str());
  return JsonObject()
      .add("total", ledger.used())
      .add("limit", ledger.limit())
      .add_json("accounts", accounts.str())
      .str();
}

// The lines that `weft plan` prints.
std::string memory_json(const Engine& engine) {
  JsonArray lines;
  for (const MemoryUse::Named& line : engine.memory().lines())
    lines.add_json(JsonObject().add("name", line.name).add("bytes", line.bytes).str());
  return JsonObject()
      .add("total", engine.memory().total())
      .add("budget", engine.session_options().mem_budget)
      .add("allocated", engine.state().allocated_bytes)
      .add_json("lines", lines.str())
      .add_json("beside", taken_json())
      .add_json("concessions", array_of(engine.concessions()))
      .str();
}

// How many, and why.
std::string workers_json(const Engine& engine) {
  const WorkerChoice choice = choose_workers(engine.session_options().workers);
  return JsonObject().add("count", choice.count).add("reason", choice.reason).str();
}

void get_props(const std::shared_ptr<ApiCall>& call) {
  const ServedModel& served = *call->model;
  const Vocabulary& vocabulary = served.model->vocabulary();
  call->reply(JsonObject()
                  .add_json("default_generation_settings", default_settings(served))
                  .add("total_slots", served.texts->n_slots())
                  .add("model_alias", served.name)
                  .add("model_path", served.name)
                  .add_json("modalities", R"({"vision":false,"audio":false})")
                  .add("chat_template",
                       served.chat.chat_template ? served.chat.chat_template->source() : "")
                  .add("bos_token", token_text(vocabulary, vocabulary.special().bos))
                  .add("eos_token", token_text(vocabulary, vocabulary.special().eos))
                  .add_json("memory", served.engine ? memory_json(*served.engine) : "null")
                  .add_json("session",
                            served.engine ? to_json(served.engine->session_options(), Paths::hidden)
                                          : "null")
                  .add_json("workers", served.engine ? workers_json(*served.engine) : "null")
                  .add("build_info", "weft " + call->services.options.version)
                  .str());
}

struct NoFields {};
const Fields<NoFields>& no_fields() {
  static const Fields<NoFields> table;
  return table;
}

// LoRAs and the scales that requests without scales of their own have.
class LoraScales {
 public:
  std::vector<float> get(const ServedModel& model) {
    const std::lock_guard lock(mutex_);
    const auto at = changed_.find(model.engine);
    return at == changed_.end() ? of_files(*model.model) : at->second;
  }
  void set(const ServedModel& model, std::vector<float> scales) {
    const std::lock_guard lock(mutex_);
    if (model.engine) model.engine->set_lora_scales(scales);
    std::erase_if(changed_, [](const auto& entry) { return entry.first.expired(); });
    changed_[model.engine] = std::move(scales);
  }

 private:
  static std::vector<float> of_files(const Model& model) {
    std::vector<float> scales;
    for (const LoraFile& file : model.adapters().loras()) scales.push_back(file.scale);
    return scales;
  }

  std::mutex mutex_;
  std::map<std::weak_ptr<Engine>, std::vector<float>, std::owner_less<>> changed_;
};

void get_loras(LoraScales& scales, const ApiCall& call) {
  const std::vector<float> now = scales.get(*call.model);
  JsonArray list;
  std::size_t i = 0;
  for (const LoraFile& file : call.model->model->adapters().loras()) {
    const std::string name = std::filesystem::path(file.path).filename().string();
    list.add_json(JsonObject().add("id", i).add("path", name).add("scale", now[i]).str());
    ++i;
  }
  call.reply(list.str());
}

// Adapters that the list does not have are switched off.
void set_loras(LoraScales& scales, const ApiCall& call) {
  static const Form<std::vector<LoraScale>> form = list(object(lora_scale_fields()));
  const Json body = parse_json(call.request().body);
  scales.set(*call.model, lora_scales(*call.model->model, read(form, body, {}), ""));
  call.reply(R"({"success":true})");
}

}  // namespace

std::vector<Endpoint> state_endpoints(const NativeOptions& options) {
  const auto scales = std::make_shared<LoraScales>();
  std::vector<Endpoint> endpoints;
  endpoints.push_back(
      plain_endpoint("GET", "/props", "getProps", "Facts about the model and defaults", get_props));
  endpoints.push_back(
      plain_endpoint("GET", "/lora-adapters", "listLoraAdapters", "LoRA adapters and their scales",
                     [scales](const std::shared_ptr<ApiCall>& c) { get_loras(*scales, *c); }));
  endpoints.push_back(
      plain_endpoint("POST", "/lora-adapters", "setLoraAdapters", "Sets scales of LoRA adapters",
                     [scales](const std::shared_ptr<ApiCall>& c) { set_loras(*scales, *c); }));
  for (Endpoint& endpoint : endpoints) endpoint.model = ModelUse::named;
  Endpoint props = post_endpoint(
      "/props", "setProps", "Accepts only an empty object: nothing can be changed",
      [on = options.post_props](const std::shared_ptr<ApiCall>& call) {
        if (!on) throw not_supported("start the server with --props");
        if (!call->body->empty()) throw not_supported("the server's properties cannot be changed");
        call->reply(R"({"success":true})");
      },
      no_fields());
  props.body_optional = true;
  endpoints.push_back(std::move(props));
  return endpoints;
}

}  // namespace weft::api::native
