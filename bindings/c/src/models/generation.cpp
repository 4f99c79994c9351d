#include "models/generation.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

#include "weft/serve/generation_knobs.h"
#include "weft/serve/prompt.h"

#include "border/arguments.h"
#include "border/call.h"
#include "border/options.h"
#include "models/speculation.h"
#include "text/chat_objects.h"

namespace weft::c_api {
namespace {

weft_generation_options default_generation_options() {
  return {.struct_size = sizeof(weft_generation_options),
          .max_tokens = -1,
          .n_logprobs = -1,
          .keep = ContextEndOptions{}.keep};
}

std::function<TokenId(std::span<const float>, std::span<const TokenId>)> choice_of(
    weft_choose choose, void* user) {
  if (!choose) return {};
  return [=](std::span<const float> logits, std::span<const TokenId> tokens) {
    const weft_choice choice{.struct_size = sizeof(weft_choice),
                             .logits = logits.data(),
                             .n_logits = logits.size(),
                             .tokens = tokens.data(),
                             .n_tokens = tokens.size()};
    weft_token token = kNoToken;
    checked_callback([&](weft_error** error) { return choose(user, &choice, &token, error); });
    if (token < 0 || token >= std::ssize(logits))
      throw StatusError(
          WEFT_ERROR_CALLBACK,
          fmt::format("a callback chose token {}, the vocabulary has {}", token, logits.size()));
    return token;
  };
}

TextRulesOptions rules_of(const weft_generation_options& o, const ModelObject& model) {
  TextRulesOptions rules{.stops = strings_of(o.stops, o.n_stops, "stops"),
                         .banned = strings_of(o.banned, o.n_banned, "banned")};
  if (o.grammar) rules.grammar = pin<GrammarObject>(o.grammar)->grammar;
  if (o.grammar || o.n_banned > 0) rules.tree = model.tree();
  return rules;
}

// Throws ValueError for what no generation of a vocabulary of n tokens can mean.
void check_ranges(const weft_generation_options& o, std::int64_t n_vocab) {
  check_option<GenerationOptions>("max_tokens", o.max_tokens);
  check_option<GenerationOptions>("min_tokens", o.min_tokens);
  check_option<GenerationOptions>("n_logprobs", o.n_logprobs);
  constexpr std::int64_t kMaxMs = std::numeric_limits<std::int64_t>::max() / 1'000'000;  // in ns
  check_between(o.max_time_ms, 0, kMaxMs, "max_time_ms");
  if (o.n_logprobs > n_vocab)
    fail<ValueError>("n_logprobs must be at most {}, the vocabulary, got {}", n_vocab,
                     o.n_logprobs);
  check_tokens(array(o.stop_tokens, o.n_stop_tokens, "stop_tokens"), n_vocab, "stop_tokens");
}

ContextEndOptions context_end_of(const weft_generation_options& o) {
  ContextEndOptions end{.keep = o.keep, .discard = o.discard, .cells = o.cache_evict};
  if (o.context_end)
    set_by_name(end.end, "context_end", checked_utf8(o.context_end, "context_end"));
  check_option<ContextEndOptions>("keep", o.keep);
  check_option<ContextEndOptions>("discard", o.discard);
  check_option<ContextEndOptions>("cache_evict", o.cache_evict);
  return end;
}

std::optional<std::chrono::milliseconds> time_of(std::int64_t ms) {
  if (ms == 0) return std::nullopt;
  return std::chrono::milliseconds(ms);
}

weft_generation_options options_of(const weft_generation_options* given) {
  return read_options(given, default_generation_options(), "weft_generation_options");
}

std::function<bool(TokenId)> shown_by(const std::shared_ptr<ShownControl>& shown) {
  return [shown](TokenId id) {
    return shown->all || std::ranges::find(shown->of_chat, id) != shown->of_chat.end();
  };
}

GenerationOptions generation_options(const weft_generation_options& o, SessionObject& session,
                                     const std::shared_ptr<ShownControl>& shown) {
  const Drafting drafting = drafting_by(o.speculation, session);
  check_flags(o.decode_flags, WEFT_DETOKENIZE_SHOW_SPECIAL | WEFT_DETOKENIZE_STRIP_SPACE_PREFIX,
              "decode_flags");
  check_ranges(o, session.session.model().facts().n_vocab);
  shown->all = (o.decode_flags & WEFT_DETOKENIZE_SHOW_SPECIAL) != 0;
  const auto stop_tokens = array(o.stop_tokens, o.n_stop_tokens, "stop_tokens");
  return {
      .sampler = sampler_options(o.sampler, session.session.model().facts().n_vocab),
      .choose = choice_of(o.choose, o.choose_user),
      .rules = rules_of(o, *session.model),
      .max_tokens = o.max_tokens,
      .max_time = time_of(o.max_time_ms),
      .ignore_eos = is_set(o.ignore_eos, "ignore_eos"),
      .stop_tokens = {stop_tokens.begin(), stop_tokens.end()},
      .min_tokens = o.min_tokens,
      .token_healing = is_set(o.token_healing, "token_healing"),
      .logprobs = o.n_logprobs,
      .prompt_logprobs = is_set(o.prompt_logprobs, "prompt_logprobs"),
      .decode = {.strip_space_prefix = (o.decode_flags & WEFT_DETOKENIZE_STRIP_SPACE_PREFIX) != 0},
      .shows_control = shown_by(shown),
      .feed_last = is_set(o.keep_last_room, "keep_last_room"),
      .draft = drafting.draft,
      .max_guesses = drafting.max_guesses,
      .context_end = context_end_of(o),
      .cancel = &session.gate.cancelled()};
}

// A computation that was cancelled returns false.
void require_done(bool done) {
  if (!done) fail<CancelledError>("the call was cancelled");
}

void give_prompt_logprobs(std::span<const TokenLogprobs> rows, GenerationObject& object) {
  object.prompt_top.clear();
  object.prompt_logprobs.clear();
  for (const TokenLogprobs& row : rows) {
    for (const TokenLogprob& t : row.top) object.prompt_top.push_back({t.token, t.logprob});
  }
  const weft_logprob* top = object.prompt_top.data();
  for (const TokenLogprobs& row : rows) {
    object.prompt_logprobs.push_back({.token = row.chosen.token,
                                      .logprob = row.chosen.logprob,
                                      .n_top = row.top.size(),
                                      .top = top});
    top += row.top.size();
  }
}

// Whether the sequence was changed by no other means than the generation.
bool has_own_sequence(Generation& g) {
  const Session& session = g.session();
  const std::int64_t held = std::ssize(g.held());
  return session.length(g.sequence()) == held + n_guessed(g) &&
         session.common_prefix(g.sequence(), g.held()) == held;
}

// Throws ValueError if it was.
void require_own_sequence(const UsedGeneration& g) {
  if (!has_own_sequence(*g))
    fail<ValueError>(
        "sequence {} has {} tokens, and no longer the {} that the generation left: begin a text",
        g->sequence(), g->session().length(g->sequence()), std::ssize(g->held()) + n_guessed(*g));
}

void set_grammar(GenerationObject& g, const std::shared_ptr<const Grammar>& grammar) {
  g.generation->set_grammar(grammar, grammar ? g.session->model->tree() : nullptr);
}

SamplerStart start_of(std::int32_t keep_state) {
  return is_set(keep_state, "keep_state") ? SamplerStart::keep_state : SamplerStart::restart;
}

}  // namespace

// The last owner may be a thread that frees the handle while another one uses the session.
GenerationObject::~GenerationObject() {
  if (n_guessed(*generation) == 0 && n_dropped(*generation) == 0) return;
  gate.run_inside([left = generation] {
    try {
      drop_guesses(*left);
      if (has_own_sequence(*left)) keep_exact(*left);
    } catch (const std::exception&) {  // a session that lost its files, say: it reports that itself
      return;
    }
  });
}

void set_guesses_aside(SessionObject& session, std::int32_t sequence) {
  for (const auto& text : session.drafted) {
    const auto generation = text.lock();  // also of an object that another thread frees now
    if (generation && generation->sequence() == sequence) drop_guesses(*generation);
  }
}

void give_event(const GenerationEvent& event, GenerationObject& object,
                weft_generation_event* out) {
  object.text = event.text;
  object.top.clear();
  weft_generation_event e{.stop = static_cast<std::int32_t>(event.stop),
                          .token = event.token,
                          .text = object.text.c_str(),
                          .text_size = object.text.size(),
                          .n_unshown = static_cast<std::int32_t>(event.n_unshown)};
  if (event.logprobs) {
    e.logprob = event.logprobs->chosen.logprob;
    for (const TokenLogprob& t : event.logprobs->top) object.top.push_back({t.token, t.logprob});
    e.top = object.top.data();
    e.n_top = static_cast<std::uint32_t>(object.top.size());
  }
  write_struct(out, e, "weft_generation_event");
}

}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_generation_options_init(weft_generation_options* options, size_t size) {
  return call(nullptr, [&] {
    init_options(options, size, default_generation_options(), "weft_generation_options");
  });
}

weft_status weft_generation_open(weft_session* session, int32_t sequence,
                                 const weft_generation_options* options,
                                 weft_generation** generation, weft_error** error) {
  return call(error, [&] {
    required(generation, "generation");
    const UsedSession s(session);
    auto shown = std::make_shared<ShownControl>();
    const auto o = options_of(options);
    const GenerationOptions how = generation_options(o, *s.object(), shown);
    Generation made(*s, sequence, how);
    auto object = std::make_shared<GenerationObject>(s.object(), std::move(shown), std::move(made));
    object->grammar = how.rules.grammar;
    if (o.speculation) {
      auto& drafted = s.object()->drafted;
      std::erase_if(drafted, [](const auto& text) { return text.expired(); });
      drafted.push_back(object->generation);
    }
    *generation = handle_of<weft_generation>(std::move(object));
  });
}

weft_status weft_generation_free(weft_generation* generation) {
  return free_handle<GenerationObject>(generation);
}

weft_status weft_generation_begin(weft_generation* generation, const weft_token* prompt, size_t n,
                                  int32_t keep_state, weft_error** error) {
  return call(error, [&] {
    const UsedGeneration g(generation);
    const auto tokens = array(prompt, n, "prompt");
    check_tokens(tokens, g.object()->session->session.model().facts().n_vocab, "prompt");
    g->begin(tokens, start_of(keep_state));
    g.object()->shown->of_chat.clear();
  });
}

weft_status weft_generation_begin_text(weft_generation* generation, const char* prompt, size_t size,
                                       weft_error** error) {
  return call(error, [&] {
    const UsedGeneration g(generation);
    g->begin(text(prompt, size, "prompt"));
    g.object()->shown->of_chat.clear();
  });
}

weft_status weft_generation_begin_chat(weft_generation* generation, weft_chat_plan* plan,
                                       int32_t keep_state, weft_error** error) {
  return call(error, [&] {
    const UsedGeneration g(generation);
    const auto p = pin<ChatPlanObject>(plan);
    if (p->chat->model != g.object()->session->model)
      fail<ValueError>("the plan is of another model than the generation");
    const SamplerStart start = start_of(keep_state);
    set_grammar(*g.object(), p->plan.grammar);
    try {
      g->begin(p->plan.tokens, start);
    } catch (...) {
      set_grammar(*g.object(), g.object()->grammar);
      throw;
    }
    g.object()->grammar = p->plan.grammar;
    g.object()->shown->of_chat = p->plan.shown;
  });
}

weft_status weft_generation_prefill(weft_generation* generation, weft_token_progress progress,
                                    void* user, weft_error** error) {
  return call(error, [&] {
    const UsedGeneration g(generation);
    require_own_sequence(g);
    require_done(g->prefill(token_progress_of(progress, user, g.cancelled())));
  });
}

weft_status weft_generation_next(weft_generation* generation, weft_generation_event* event,
                                 weft_error** error) {
  return call(error, [&] {
    const UsedGeneration g(generation);
    check_output(event, "weft_generation_event");
    require_own_sequence(g);
    give_event(g->next(), *g.object(), event);
    mark_warm();
  });
}

weft_status weft_generation_feed_last(weft_generation* generation, weft_error** error) {
  return call(error, [&] {
    const UsedGeneration g(generation);
    require_own_sequence(g);
    require_done(g->feed_last());
  });
}

weft_status weft_generation_fork(weft_generation* generation, int32_t to_sequence,
                                 const uint64_t* seed, weft_generation** fork, weft_error** error) {
  return call(error, [&] {
    required(fork, "fork");
    const UsedGeneration g(generation);
    const auto at = seed ? std::optional<std::uint64_t>(*seed) : std::nullopt;
    auto shown = std::make_shared<ShownControl>(*g.object()->shown);
    Generation forked = g->fork(to_sequence, at, shown_by(shown));
    auto object = std::make_shared<GenerationObject>(g.object()->session, std::move(shown),
                                                     std::move(forked));
    object->grammar = g.object()->grammar;
    *fork = handle_of<weft_generation>(std::move(object));
  });
}

weft_status weft_generation_adopt(weft_generation* generation, const weft_token* held, size_t n,
                                  weft_error** error) {
  return call(error, [&] {
    const UsedGeneration g(generation);
    require_tokens(g->session(), g->sequence(), array(held, n, "held"));
  });
}

weft_status weft_generation_set_sampler(weft_generation* generation,
                                        const weft_sampler_options* sampler, weft_error** error) {
  return call(error, [&] {
    const UsedGeneration g(generation);
    g->set_sampler(sampler_options(sampler, g.object()->session->session.model().facts().n_vocab));
  });
}

weft_status weft_generation_set_grammar(weft_generation* generation, weft_grammar* grammar,
                                        weft_error** error) {
  return call(error, [&] {
    const UsedGeneration g(generation);
    g.object()->grammar = grammar ? pin<GrammarObject>(grammar)->grammar : nullptr;
    set_grammar(*g.object(), g.object()->grammar);
  });
}

weft_status weft_generation_get_prompt_logprobs(weft_generation* generation,
                                                const weft_token_logprobs** logprobs, size_t* n,
                                                weft_error** error) {
  return call(error, [&] {
    const UsedGeneration g(generation);
    required(logprobs, "logprobs");
    required(n, "n");
    give_prompt_logprobs(g->prompt_logprobs(), *g.object());
    *logprobs = g.object()->prompt_logprobs.data();
    *n = g.object()->prompt_logprobs.size();
  });
}

weft_status weft_generation_get_info(weft_generation* generation, weft_generation_info* info,
                                     weft_error** error) {
  return call(error, [&] {
    const UsedGeneration g(generation);
    const std::span<const TokenId> tokens = g->tokens();
    g.object()->stop_string = g->stop_string();
    write_struct(info,
                 weft_generation_info{.sequence = g->sequence(),
                                      .tokens = tokens.data(),
                                      .n_tokens = tokens.size(),
                                      .n_prompt = g->n_prompt(),
                                      .n_reused = g->n_reused(),
                                      .n_new = g->n_new(),
                                      .n_pending = g->n_pending(),
                                      .n_held = std::ssize(g->held()),
                                      .ended = g->ended(),
                                      .stop_string = g.object()->stop_string.c_str(),
                                      .n_guessed = n_guessed(*g),
                                      .n_dropped = n_dropped(*g)},
                 "weft_generation_info");
  });
}
