#include "serve/load_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/files/pooling.h"
#include "weft/grammar/token_constraint.h"
#include "weft/scheduler/budget.h"

#include "serve/model_files.h"

namespace weft::server {
namespace {

constexpr std::int64_t kMinContext = 2048;  // when the context is shortened to meet the budget
// Resident bytes of the server beyond its plan: about as many as 8 long requests at once need.
constexpr std::int64_t kProgram = std::int64_t{24} << 20;
// Narrower steps take several times as long for a prompt: fewer slots are better.
constexpr std::int64_t kWideStep = 128;

// Bytes of the budget for what plans do not count: code, vocabulary, connections, requests.
std::int64_t program_bytes(const Flags& flags) {
  return std::min(kProgram, flags.model.session.mem_budget / 16);
}

// What remains for this model. 0: the budget was not given.
std::int64_t budget_left(const Flags& flags, std::int64_t used) {
  if (flags.model.session.mem_budget == 0) return 0;
  const std::int64_t budget = flags.model.session.mem_budget - program_bytes(flags);
  if (used >= budget) {
    fail<BudgetError>("other models use {} and the server {} of the memory budget of {}",
                      human_bytes(used), human_bytes(program_bytes(flags)),
                      human_bytes(flags.model.session.mem_budget));
  }
  return budget - used;
}

// Of one slot, at first.
std::int64_t context_of(const Flags& flags, const Model& model) {
  const std::int64_t all = flags.model.session.context;
  if (all == 0) return model.facts().context;
  return std::max<std::int64_t>(all / flags.slots, 1);
}

EngineOptions engine_options(const Flags& flags, const Model& model, std::int64_t used,
                             const std::function<bool(double)>& progress) {
  EngineOptions options{.slots = flags.slots, .max_waiting = flags.max_queue};
  options.session = flags.model.session;
  options.session.context = context_of(flags, model);
  options.session.mem_budget = budget_left(flags, used);
  options.session.progress = progress;
  options.warm_up = flags.warm_up;
  if (flags.kept_prompts_mib >= 0) options.kept_prompts_bytes = flags.kept_prompts_mib << 20;
  return options;
}

bool has_fixed_context(const Flags& flags) {
  return flags.model.session.context > 0;
}

bool can_reduce_slots(const Flags& flags, const EngineOptions& options) {
  return !flags.slots_given && options.slots > 1;
}

bool can_reduce(const Flags& flags, const EngineOptions& options) {
  return can_reduce_slots(flags, options) ||
         (!has_fixed_context(flags) && options.session.context > kMinContext);
}

// Reduces the slots, then the context. REQUIRES: can_reduce().
void reduce(const Flags& flags, EngineOptions& options) {
  if (can_reduce_slots(flags, options)) {
    options.slots /= 2;
    if (has_fixed_context(flags)) options.session.context *= 2;
  } else {
    options.session.context = std::max(options.session.context / 2, kMinContext);
  }
}

// How wide steps can be within the budget; 0: it cannot be met.
std::int64_t step_width(const Model& model, const EngineOptions& options) {
  SessionOptions session = options.session;
  session.sequences = options.slots;
  try {
    return plan_model(model, session).options.prefill_width;
  } catch (const BudgetError&) {
    return 0;
  }
}

// As many slots, with as much context, as leave room for wide steps; else as fit at all.
EngineOptions meet_budget(const Model& model, const Flags& flags, const EngineOptions& wanted) {
  const std::int64_t wide = std::min(wanted.session.prefill_width, kWideStep);
  std::optional<EngineOptions> fits;
  for (EngineOptions options = wanted;; reduce(flags, options)) {
    const std::int64_t width = step_width(model, options);
    if (width >= wide) return options;
    if (width > 0 && !fits) fits = options;
    if (!can_reduce(flags, options)) return fits.value_or(options);
  }
}

// Prompts are computed several times as fast if weights are resident. Slots rarely need their whole
// context at once, so they share fewer cells if that leaves room for it. Returns the options as
// they are if it does not.
EngineOptions share_cells(const Model& model, const EngineOptions& wanted) {
  const bool has_kept_prompts = wanted.kept_prompts_bytes > 0;  // their cells are not planned here
  if (wanted.slots == 1 || wanted.session.cells > 0 || has_kept_prompts) return wanted;
  if (wanted.session.weights != WeightMode::automatic) return wanted;
  SessionOptions session = wanted.session;
  session.sequences = wanted.slots;
  const PlannedModel planned = plan_model(model, session);
  if (planned.options.weights == WeightMode::resident) return wanted;
  session.cache_k = planned.options.cache_k;
  session.cache_v = planned.options.cache_v;
  const std::int64_t all = wanted.slots * wanted.session.context;
  for (const std::int64_t cells : {all * 3 / 4, all / 2}) {
    session.cells = cells;
    if (plan_model(model, session).options.weights != WeightMode::resident) continue;
    EngineOptions shared = wanted;
    shared.session.cells = cells;
    shared.session.cache_k = session.cache_k;
    shared.session.cache_v = session.cache_v;
    return shared;
  }
  return wanted;
}

// An engine with these options, or with fewer cells; then `options` becomes its own.
std::shared_ptr<Engine> start_engine(const std::shared_ptr<const Model>& model,
                                     EngineOptions& options) {
  const EngineOptions shared = model->facts().gives_text() ? share_cells(*model, options) : options;
  if (shared.session.cells != options.session.cells) {
    try {
      auto engine = std::make_shared<Engine>(model, shared);
      options = shared;
      return engine;
    } catch (const BudgetError&) {  // mapped weights need less
    }
  }
  return std::make_shared<Engine>(model, options);
}

std::shared_ptr<Engine> make_engine(const std::shared_ptr<const Model>& model, const Flags& flags,
                                    const EngineOptions& wanted, const Warn& warn) {
  const bool may_differ = model->facts().gives_text() && can_reduce(flags, wanted);
  EngineOptions options = may_differ ? meet_budget(*model, flags, wanted) : wanted;
  std::shared_ptr<Engine> engine;
  while (!engine) {
    try {
      engine = start_engine(model, options);
    } catch (const BudgetError&) {
      if (!can_reduce(flags, options)) throw;
      reduce(flags, options);
    }
  }
  if (options.slots != wanted.slots || options.session.context != wanted.session.context) {
    warn(fmt::format("to meet the memory budget: {} slots, {} tokens each", options.slots,
                     options.session.context));
  }
  if (options.session.cells != wanted.session.cells) {
    warn(fmt::format("to meet the memory budget: {} cells, which all slots share",
                     options.session.cells));
  }
  return engine;
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

void set_request_defaults(api::ServedModel& served, const Flags& flags) {
  served.template_kwargs = flags.chat_template.kwargs;
  served.reasoning = api::reasoning_format(flags.reasoning_format);
  served.sampler = cli::sampler_options(*served.model, flags.sampler);
  served.random_seed = !flags.seed_given;
  served.max_tokens = flags.max_tokens;
  served.reuse = flags.cache_prompt;
  served.embedder.pooling = find_poolings(flags.pooling);
}

}  // namespace

std::shared_ptr<const Model> open_model(const Flags& flags, const std::string& path,
                                        const Warn& warn) {
  auto model = Model::load(path, {.quantize = flags.model.quantize,
                                  .overrides = flags.model.overrides,
                                  .allow_unknown_settings = flags.model.allow_unknown_settings,
                                  .adapters = flags.model.adapters});
  for (const std::string& warning : model->warnings()) warn(warning);
  const std::int64_t context = context_of(flags, *model);
  if (context > model->facts().context) {
    warn(fmt::format("{}: contexts of {} tokens, but the model was trained for {}", path, context,
                     model->facts().context));
  }
  return model;
}

std::shared_ptr<api::ServedModel> start_model(const std::shared_ptr<const Model>& model,
                                              const ModelSource& source, const Flags& flags,
                                              std::int64_t used, ServerMetrics& metrics,
                                              const std::function<bool(double)>& progress,
                                              const Warn& warn) {
  auto served = std::make_shared<api::ServedModel>();
  served->name = source.names.front();
  served->aliases = source.names;
  served->created = describe_file(source.path).modified;
  served->model = model;
  if (model->has_tokenizer())
    served->chat = chat_format(model->tokenizer(), template_of(flags, *model, warn));
  if (model->has_tokenizer()) served->tree = std::make_shared<const TokenTree>(model->tokenizer());
  set_request_defaults(*served, flags);
  served->engine = make_engine(model, flags, engine_options(flags, *model, used, progress), warn);
  served->embedder.max_tokens = served->engine->context();
  served->texts = measured(api::texts_of(served->engine), metrics);
  return served;
}

}  // namespace weft::server
