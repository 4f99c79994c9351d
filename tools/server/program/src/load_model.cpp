#include "load_model.h"

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/files/pooling.h"
#include "weft/hosting/model_files.h"

namespace weft::server {
namespace {

EngineOptions engine_options(const Flags& flags, const Model& model, std::int64_t used,
                             const std::function<bool(double)>& progress, const Warn& warn) {
  cli::ModelFlags model_flags = flags.model;
  SpeculationOptions drafts = cli::speculation_options(flags.drafts, model, model_flags);
  drafts.warn = warn;
  EngineOptions options =
      server_options(model, model_flags.session, flags.slots, flags.slots_given);
  options.speculation = std::move(drafts);
  options.max_waiting = flags.max_queue;
  options.session.progress = progress;
  options.used_bytes = used;
  options.warm_up = flags.warm_up;
  options.prepare_share = flags.prepares ? flags.prepare_share : 0;
  options.snapshots = {
      .folder = flags.snapshot_folder, .max_bytes = flags.snapshots_mib << 20, .warn = warn};
  options.memory_guard = {.on = flags.guards_memory, .warn = warn};
  if (flags.kept_prompts_mib >= 0) options.kept_prompts_bytes = flags.kept_prompts_mib << 20;
  return options;
}

std::shared_ptr<const ChatTemplate> template_of(const Flags& flags, const Model& model,
                                                const Warn& warn) {
  const cli::TemplateFlags& chosen = flags.chat_template;
  try {
    return cli::load_template(chosen, model.vocabulary());
  } catch (const Error& error) {
    if (!chosen.name.empty() || !chosen.file.empty()) throw;
    if (!model.vocabulary().chat_template().empty())
      warn(fmt::format("chats are refused: {}", error.what()));
    return nullptr;
  }
}

// What the flags ask for is not dropped in silence: if they name one model, it has to do it. Of
// several, those that cannot go on end their texts, and requests may still ask for it.
ContextEndOptions context_end_of(const Flags& flags, const Engine& engine,
                                 const HostedModel& source, const Warn& warn) {
  if (!engine.model().facts().gives_text() && !flags.one_model()) return {};
  try {
    engine.check(flags.context_end);
    return flags.context_end;
  } catch (const Error& error) {
    if (flags.one_model()) throw;
    warn(fmt::format("{}: --context-end has no effect: {}", source.names.front(), error.what()));
    return {};
  }
}

void set_request_defaults(api::ServedModel& served, const Flags& flags) {
  served.template_kwargs = flags.chat_template.kwargs;
  served.reasoning = api::reasoning_format(flags.reasoning_format);
  served.sampler = cli::sampler_options(*served.model, flags.sampler);
  served.dry_breakers = flags.sampler.dry_breaker_texts;
  served.random_seed = !flags.seed_given;
  served.max_tokens = flags.max_tokens;
  served.reuse = flags.cache_prompt;
  served.prepares = flags.prepares;
  served.moved = flags.moved;
  served.embedder.pooling = find_poolings(flags.pooling);
}

}  // namespace

std::shared_ptr<const Model> open_model(const Flags& flags, const std::string& path,
                                        const Warn& warn) {
  auto model = Model::load(path, cli::model_options(flags.model));
  for (const std::string& warning : model->warnings()) warn(warning);
  if (flags.one_model()) check_context_end(*model, flags.context_end);
  const std::int64_t context =
      server_options(*model, flags.model.session, flags.slots, flags.slots_given).session.context;
  if (context > model->facts().context) {
    warn(fmt::format("{}: contexts of {} tokens, but the model was trained for {}", path, context,
                     model->facts().context));
  }
  return model;
}

std::shared_ptr<api::ServedModel> start_model(const std::shared_ptr<const Model>& model,
                                              const HostedModel& source, const Flags& flags,
                                              std::int64_t used, ServerMetrics& metrics,
                                              const std::function<bool(double)>& progress,
                                              const Warn& warn) {
  ChatFormat chat;
  if (model->has_tokenizer())
    chat = chat_format(model->tokenizer(), template_of(flags, *model, warn));
  auto engine =
      std::make_shared<Engine>(model, engine_options(flags, *model, used, progress, warn));
  for (const std::string& given_up : engine->concessions())
    warn(fmt::format("to meet the memory budget: {}", given_up));
  if (const std::string& why = engine->why_not_moved(); flags.moved.min_tokens > 0 && !why.empty())
    warn(fmt::format("{}: --cache-reuse has no effect: {}", source.path, why));
  const ContextEndOptions context_end = context_end_of(flags, *engine, source, warn);
  auto served = api::served_model(source.names.front(), model, std::move(engine), std::move(chat));
  served->aliases = source.names;
  served->created = describe_file(source.path).modified;
  set_request_defaults(*served, flags);
  served->context_end = context_end;
  served->texts = measured(served->texts, metrics);
  return served;
}

}  // namespace weft::server
