// Continues a text with a language model. examples/minimal is the same without flags.

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "weft/base/human_numbers.h"
#include "weft/base/text.h"
#include "weft/chat/encode_chat.h"
#include "weft/serve/beam_texts.h"
#include "weft/serve/prompt.h"
#include "weft/serve/prompt_cache.h"
#include "weft/serve/shown_logprobs.h"

#include "common/draft_flags.h"
#include "common/program.h"
#include "common/read_text.h"
#include "common/tune_once.h"
#include "generate/diffusion.h"
#include "generate/flags.h"
#include "generate/program.h"
#include "generate/report.h"

namespace {

using namespace weft;
using generate::Options;
using generate::Stage;

std::vector<TokenId> encode(const Model& model, const Options& options) {
  if (!options.conversation) return encode_prompt(model, options.prompt);
  std::vector<ChatMessage> messages;
  if (!options.system.empty()) messages.push_back({"system", options.system});
  messages.push_back({"user", options.prompt});
  const auto chat_template = cli::load_template(options.chat_template, model.vocabulary());
  return encode_chat(model.tokenizer(), render_chat(model.vocabulary(), *chat_template, messages,
                                                    {.kwargs = options.chat_template.kwargs}));
}

// Prints a text as it is generated, or a line for each token. Returns a remark on why it ended.
std::string write(Generation& generation, const Options& options, Stage& stage) {
  const auto start = cli::Clock::now();
  StopReason stop = StopReason::none;
  ShownLogprobs logprobs;
  while (stop == StopReason::none) {
    const GenerationEvent event = generation.next();
    stop = event.stop;
    if (options.logprobs < 0) cli::print_now(event.text);
    for (const TokenLogprobs& row : logprobs.push(event.logprobs, event.n_unshown, stop))
      cli::print_now(options.json ? to_json(row) + "\n" : generate::line_of(row));
  }
  stage.seconds += cli::seconds_since(start);
  stage.tokens += generation.n_new();
  stage.fed += generation.n_new() - generation.n_pending();
  return generate::remark(stop) + generate::remark(n_dropped(generation), options.context_end.end);
}

// Prints the best texts of a beam search. Returns a remark on them.
std::string write_beams(Generation& generation, const Options& options, Stage& stage) {
  const auto start = cli::Clock::now();
  const BeamTexts found = search_texts(generation, options.search);
  stage = {found.n_steps, found.n_steps, cli::seconds_since(start)};
  std::string about;
  const auto n = std::min(found.best.size(), static_cast<std::size_t>(options.samples));
  for (std::size_t i = 0; i < n; ++i) {
    cli::print_now((i > 0 ? fmt::format("\n--- {}\n", i + 1) : "") + found.best[i].text);
    about += generate::line_of(i + 1, found.best[i].hypothesis);
  }
  return about + (found.cancelled ? generate::remark(StopReason::cancelled) : "");
}

GenerationOptions settings(const Model& model, const Options& options) {
  const TextRulesOptions rules = cli::text_rules(model, options.constraint);
  const SamplerOptions sampler = cli::sampler_options(model, options.sampler);
  return {.sampler = sampler,
          .rules = rules,
          .max_tokens = options.predict,
          .ignore_eos = options.ignore_eos,
          .token_healing = options.token_healing,
          .logprobs = options.logprobs,
          .decode = {.strip_space_prefix = options.prompt.empty() || model.facts().encodes},
          .max_guesses = options.drafts.speculation.max_guesses,
          .context_end = options.context_end,
          .cancel = &cli::interrupt_flag()};
}

// Generates all texts that the options ask for, then prints speeds and remarks.
void write_all(Session& session, const Speculation& speculation, std::span<const TokenId> tokens,
               const Options& options) {
  GenerationOptions how = settings(session.model(), options);
  how.draft = speculation.draft();
  Generation generation(session, 0, how);
  PromptCache cache(options.cache_path, options.cache_read_only);
  std::string warning;
  cache.restore(generation, tokens, warning);
  if (!warning.empty()) std::cerr << "warning: " << warning << '\n';
  generation.begin(tokens);
  const std::int64_t n_kept = generation.n_reused();
  const std::int64_t n_read = generation.n_prompt() + generation.n_text();
  Stage prompt{n_read, n_read - n_kept}, generated;
  // The output of a model with an encoder is an answer, not a continuation.
  const bool shows_prompt = !options.hide_prompt && !session.model().facts().encodes;
  if (shows_prompt && options.logprobs < 0) cli::print_now(options.prompt);

  const auto start = cli::Clock::now();
  const bool computed = generation.prefill();
  prompt.seconds = cli::seconds_since(start);
  if (computed && !options.cache_all) cache.keep(generation);
  std::string why = options.beams > 0 ? write_beams(generation, options, generated)
                                      : write(generation, options, generated);
  if (options.cache_all && n_dropped(generation) == 0) cache.keep(generation);
  for (std::int64_t i = 1; i < options.samples && options.beams == 0 && !cli::interrupted(); ++i) {
    cli::print_now(fmt::format("\n--- {}\n", i + 1));
    ++how.sampler.seed;
    generation.set_sampler(how.sampler);
    generation.begin(tokens);
    why = write(generation, options, generated);
  }
  if (options.logprobs < 0) cli::print_now("\n");
  std::cerr << '\n'
            << why << generate::summary(prompt, generated, n_kept)
            << cli::draft_report(speculation);
}

int run(Options options) {
  generate::complete_options(options);
  if (!options.prompt_file.empty())
    options.prompt = with_line_feeds(cli::read_text(options.prompt_file));
  cli::tune_once(options.model);
  const auto model = cli::load_model(options.model, cli::continue_unless_interrupted);
  const std::vector<TokenId> tokens = encode(*model, options);
  if (is_diffusion_model(*model)) {
    std::cerr << generate::diffuse(model, tokens, options);
    return cli::interrupted() ? cli::kInterrupted : 0;
  }
  generate::check_writes(*model, options);
  const SpeculationOptions drafts = cli::speculation_options(options.drafts, *model, options.model);
  MemoryOffer offer =
      plan_memory(*model, cli::demand_of_texts(*model, options.model.session, drafts));
  const std::int64_t bytes = offer.memory().total();
  Session session(std::move(offer.planned), model);
  cli::print_concessions(session);
  if (std::ssize(tokens) > session.options().context) {
    fail<ValueError>("the prompt has {} tokens, the context holds {}: give a larger -c",
                     tokens.size(), session.options().context);
  }
  write_all(session, Speculation(session, drafts, std::move(offer.drafts)), tokens, options);
  std::cerr << fmt::format("memory    {} in all, {} workers, backend {}, seed {}\n",
                           human_bytes(bytes), session.options().workers, session.options().backend,
                           options.sampler.seed);
  return cli::interrupted() ? cli::kInterrupted : 0;
}

}  // namespace

int weft::generate::run_program(int argc, char** argv) {
  return cli::run_program("generate", [&] {
    Options options;
    if (const auto code = read_flags(argc, argv, options)) return *code;
    cli::catch_interrupts(cli::Interrupts::once);
    return run(options);
  });
}
