// Continues a text with a language model, in four steps: load a model, open a session, feed the
// prompt, then sample and feed one token after the other.

#include <algorithm>
#include <iostream>
#include <limits>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"
#include "weft/sample/logprobs.h"
#include "weft/tokenize/token_healing.h"
#include "weft/tokenize/tokenizer.h"

#include "common/constraint_flags.h"
#include "common/flags.h"
#include "common/program.h"
#include "common/prompt_cache.h"
#include "common/read_text.h"
#include "common/template_flags.h"
#include "generate/beams.h"

namespace {

using namespace weft;

struct Options {
  cli::ModelFlags model;
  cli::SamplerFlags sampler;
  cli::PromptCache cache;
  cli::ConstraintFlags constraint;
  cli::BeamFlags beams;
  std::int64_t samples = 1;
  std::int64_t logprobs = -1;  // how many of the likeliest tokens are shown with each; -1: no
  bool json = false;
  std::string prompt = "Once upon a time";
  std::string prompt_file;
  std::int64_t predict = -1;
  bool ignore_eos = false;
  bool hide_prompt = false;
  bool token_healing = false;
  bool conversation = false;
  std::string system;
  cli::TemplateFlags chat_template;
};

struct Stage {
  std::int64_t tokens = 0;
  std::int64_t fed = 0;  // the last one written is not
  double seconds = 0;
  std::string to_text(const char* name) const {
    const double speed = seconds > 0 ? static_cast<double>(fed) / seconds : 0;
    return fmt::format("{:<10}{:>6} tokens {:10.1f} tokens/s\n", name, tokens, speed);
  }
};

// The prompt as what a user says, up to where the model answers.
std::vector<TokenId> encode_conversation(const Model& model, const Options& options) {
  const Vocabulary& vocabulary = model.vocabulary();
  const auto text = [&](TokenId id) {
    return id == kNoToken ? std::string() : std::string(vocabulary.text(id));
  };
  std::vector<ChatMessage> messages;
  if (!options.system.empty()) messages.push_back({"system", options.system});
  messages.push_back({"user", options.prompt});
  const RenderedChat chat = cli::load_template(options.chat_template, vocabulary)
                                ->render(messages, {.bos = text(vocabulary.special().bos),
                                                    .eos = text(vocabulary.special().eos),
                                                    .kwargs = options.chat_template.kwargs});
  return model.tokenizer().encode(
      chat.text, {.add_special = false, .parse_special = true, .foreign = chat.foreign});
}

std::vector<TokenId> encode_prompt(const Model& model, const std::string& prompt) {
  std::vector<TokenId> tokens = model.tokenizer().encode(prompt);
  const SpecialTokens& special = model.vocabulary().special();
  // A model needs something to begin with, even where its file asks for no BOS.
  const TokenId begin = special.bos != kNoToken ? special.bos : special.eos;
  if (tokens.empty() && begin != kNoToken) tokens.push_back(begin);
  if (tokens.empty()) fail<ValueError>("the prompt is empty and the model has no BOS token");
  return tokens;
}

// For --ignore-eos: no token that ends the text can be chosen.
std::span<const float> without_end(const Model& model, std::span<const float> logits,
                                   std::vector<float>& copy) {
  copy.assign(logits.begin(), logits.end());
  for (TokenId id = 0; id < static_cast<TokenId>(copy.size()); ++id) {
    if (model.vocabulary().ends_generation(id))
      copy[static_cast<std::size_t>(id)] = -std::numeric_limits<float>::infinity();
  }
  return copy;
}

// " upon" -0.0123   " upon" -0.0123  " a" -4.5678
std::string readable(const TokenLogprobs& logprobs) {
  const auto shown = [](const TokenLogprob& t) {
    return fmt::format("\"{}\"", printable(t.bytes));
  };
  std::string line =
      fmt::format("{:<16} {:>9.4f}", shown(logprobs.chosen), logprobs.chosen.logprob);
  for (const TokenLogprob& t : logprobs.top)
    line += fmt::format("  {} {:.4f}", shown(t), t.logprob);
  return line;
}

struct Writing {
  const Options& options;
  const SamplerOptions& sampling;
  Session& session;
  Sampler& sampler;
  cli::TextRules& rules;
  Detokenizer& text;
  Stage& generated;
  std::vector<TokenId>& tokens;  // the prompt and what was fed after it
  TokenHealing* healing;         // null: none

  void print(std::string_view out) {
    if (options.logprobs < 0) cli::print_now(out);
  }
  void show(TokenId token) {
    sampler.accept(token);
    const std::string_view out = text.push(token);
    print(rules.show(healing ? healing->without_seen(out) : out));
    ++generated.tokens;
  }
  // Before the next step: its logits are those that the token was chosen from.
  void show_logprobs(TokenId token) {
    if (options.logprobs < 0) return;
    const TokenLogprobs found = token_logprobs(session.model().tokenizer(), session.logits(), token,
                                               static_cast<std::size_t>(options.logprobs));
    cli::print_now((options.json ? to_json(found) : readable(found)) + "\n");
  }
};

// Tokens that the grammar leaves no choice about: they are shown and fed in one go. False where the
// limits do not let all of them in.
bool write_forced(Writing& w, std::int64_t& n) {
  if (w.options.logprobs >= 0) return false;  // each token's are wanted
  const std::vector<TokenId> forced = w.rules.forced();
  const auto count = static_cast<std::int64_t>(forced.size());
  const bool fits = (w.options.predict < 0 || n + count < w.options.predict) &&
                    w.session.length(0) + count < w.session.options().context;
  if (count == 0 || !fits) return false;
  for (const TokenId token : forced) {
    w.rules.accept(token);
    w.show(token);
  }
  w.session.feed(0, forced, &cli::interrupted());
  w.tokens.insert(w.tokens.end(), forced.begin(), forced.end());
  w.generated.fed += count;
  n += count;
  return true;
}

// Samples, prints and feeds until something ends it; returns why.
std::string_view write_on(Writing& w) {
  const Options& options = w.options;
  Session& session = w.session;
  const Model& model = session.model();
  std::vector<float> allowed;
  for (std::int64_t n = 0; options.predict < 0 || n < options.predict; ++n) {
    const auto start = cli::Clock::now();
    if (write_forced(w, n)) w.generated.seconds += cli::seconds_since(start);
    if (w.rules.stopped()) return "";
    const auto sampled = cli::Clock::now();
    auto logits = w.rules.allowed(session.logits());
    if (options.ignore_eos) logits = without_end(model, logits, allowed);
    if (w.healing && n == 0) logits = w.healing->only_allowed(logits, allowed);
    const TokenId token = w.sampler.sample(logits);
    if (model.vocabulary().ends_generation(token)) return "";
    const bool done = w.rules.accept(token);
    w.show_logprobs(token);
    w.show(token);
    if (done || w.rules.stopped() || n + 1 == options.predict) return "";
    if (session.length(0) == session.options().context) return "stopped: the context is full\n";
    session.feed(0, {&token, 1}, &cli::interrupted());
    w.tokens.push_back(token);
    ++w.generated.fed;
    w.generated.seconds += cli::seconds_since(sampled);
  }
  return "";
}

// Further texts for the same prompt: the cache is cut back to it. The first logits of a text are
// those of the prompt's last token, which is fed once more.
void write_more_samples(Writing& w) {
  const std::vector<TokenId> prompt = w.tokens;
  const auto n_prompt = static_cast<std::int64_t>(prompt.size());
  for (std::int64_t i = 1; i < w.options.samples && !cli::interrupted(); ++i) {
    cli::print_now(fmt::format("\n--- {}\n", i + 1));
    w.session.truncate(0, n_prompt - 1);
    w.session.feed(0, {&prompt.back(), 1}, &cli::interrupted());
    SamplerOptions options = w.sampling;
    options.seed += static_cast<std::uint64_t>(i);
    w.sampler = Sampler(options);
    for (const TokenId token : prompt) w.sampler.accept(token);
    w.rules.reset();
    write_on(w);
    cli::print_now(w.rules.show(w.text.finish()) + w.rules.rest());
  }
}

// The text of a hypothesis as it would have been written.
std::string text_of(const Writing& w, const Hypothesis& found) {
  std::vector<TokenId> tokens = found.tokens;
  if (!tokens.empty() && w.session.model().vocabulary().ends_generation(tokens.back()))
    tokens.pop_back();
  w.rules.reset();
  const std::string text = w.session.model().tokenizer().decode(
      tokens, {.strip_space_prefix = w.options.prompt.empty()});
  std::string shown = w.rules.show(text);
  return shown + w.rules.rest();
}

// --beams: the best texts for the prompt that the session holds. Returns why the search ended.
std::string write_beams(Writing& w) {
  const auto start = cli::Clock::now();
  // The last token is chosen, but not fed.
  const std::int64_t room = w.session.options().context - w.session.length(0) + 1;
  const bool limited = w.options.predict >= 0 && w.options.predict <= room;
  const cli::FoundTexts found =
      cli::search_texts(w.session, w.rules, w.options.beams, w.options.ignore_eos,
                        limited ? w.options.predict : room);
  w.generated = {found.n_steps, found.n_steps, cli::seconds_since(start)};
  const auto n = std::min(found.best.size(), static_cast<std::size_t>(w.options.samples));
  std::string why;
  for (std::size_t i = 0; i < n; ++i) {
    cli::print_now((i > 0 ? fmt::format("\n--- {}\n", i + 1) : "") + text_of(w, found.best[i]));
    why += cli::describe(i + 1, found.best[i]);
  }
  w.rules.reset();
  return why + (found.interrupted ? "stopped: interrupted\n" : "");
}

void check_flags(const Options& o) {
  if (o.token_healing && (o.constraint.any_grammar() || o.samples > 1))
    fail<cli::UsageError>("--token-healing goes neither with a grammar nor with --samples");
  if (o.beams.beams > 0 && o.samples > o.beams.beams)
    fail<cli::UsageError>("{} beams find no more than {} texts, --samples asks for {}",
                          o.beams.beams, o.beams.beams, o.samples);
  if (o.logprobs >= 0 && o.samples > 1)
    fail<cli::UsageError>("--logprobs shows one text, --samples asks for {}", o.samples);
}

int generate(Options options) {
  check_flags(options);
  if (options.beams.beams > 0) {
    SessionOptions& s = options.model.session;
    s.sequences = options.beams.beams;
    s.prefill_width = std::max<std::int64_t>(s.prefill_width, s.sequences);
  }
  if (!options.prompt_file.empty()) options.prompt = cli::read_text(options.prompt_file);

  const auto model = cli::load_model(options.model, cli::not_interrupted);
  for (const std::string& warning : model->warnings()) std::cerr << "warning: " << warning << '\n';
  std::vector<TokenId> tokens = options.conversation ? encode_conversation(*model, options)
                                                     : encode_prompt(*model, options.prompt);
  std::optional<TokenHealing> healing;
  if (options.token_healing) healing.emplace(model->tokenizer(), tokens);

  Session session(model, options.model.session);
  for (const std::string& given_up : session.concessions())
    std::cerr << "to keep the budget: " << given_up << '\n';
  const auto n_prompt = std::ssize(tokens);
  if (n_prompt > session.options().context) {
    fail<ValueError>("the prompt has {} tokens, the context holds {}: give a larger -c", n_prompt,
                     session.options().context);
  }

  const SamplerOptions sampling = cli::sampler_options(*model, options.sampler);
  cli::TextRules rules(*model, options.constraint);
  Sampler sampler(sampling);
  Detokenizer text(model->tokenizer(), {.decode = {.strip_space_prefix = options.prompt.empty()}});
  const std::int64_t n_kept = cli::restore_prompt(options.cache, session, tokens);
  Stage fed{n_prompt, n_prompt - n_kept}, generated;
  Writing writing{options,   sampling, session,
                  sampler,   rules,    text,
                  generated, tokens,   healing ? &*healing : nullptr};
  std::string why;
  if (!options.hide_prompt && options.logprobs < 0) cli::print_now(options.prompt);
  try {
    const auto start = cli::Clock::now();
    session.feed(0, std::span(tokens).subspan(static_cast<std::size_t>(n_kept)),
                 &cli::interrupted());
    fed.seconds = cli::seconds_since(start);
    for (const TokenId token : tokens) sampler.accept(token);
    if (!options.cache.all) cli::keep_prompt(options.cache, session, tokens);
    why = options.beams.beams > 0 ? write_beams(writing) : write_on(writing);
  } catch (const CancelledError&) {
    why = "stopped: interrupted\n";
  }
  // A step that was broken off counts in the cache, but not in the text.
  const auto n_fed = std::min(static_cast<std::size_t>(session.length(0)), tokens.size());
  if (options.cache.all) cli::keep_prompt(options.cache, session, std::span(tokens).first(n_fed));
  writing.print(rules.show(text.finish()) + rules.rest());
  try {
    tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(n_prompt)));
    if (options.beams.beams == 0) write_more_samples(writing);
  } catch (const CancelledError&) {
    why = "stopped: interrupted\n";
  }
  // What an interruption left.
  writing.print(rules.show(text.finish()) + rules.rest() + "\n");

  std::cerr << '\n' << why << fed.to_text("prompt") << generated.to_text("generated");
  if (n_kept > 0)
    std::cerr << fmt::format("{:<10}{:>6} tokens of the prompt\n", "from cache", n_kept);
  std::cerr << fmt::format("memory    {} in all, {} workers, backend {}, seed {}\n",
                           human_bytes(session.memory().total()), session.options().workers,
                           session.options().backend, options.sampler.seed);
  return cli::interrupted() ? cli::kInterrupted : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Continues a text. The text goes to stdout as it comes, speeds to stderr.",
               "generate");
  Options options;
  cli::add_model_flags(app, options.model);
  auto* prompt = app.add_option("-p,--prompt", options.prompt, "the text to continue; '' for none");
  app.add_option("-f,--file", options.prompt_file, "read the prompt from a file; - is stdin")
      ->excludes(prompt);
  app.add_option("-n,--predict,--n-predict", options.predict,
                 "most tokens to write; -1: until the text or the context ends")
      ->check(CLI::Range(std::int64_t{-1}, std::int64_t{1} << 40));
  app.add_flag("--ignore-eos", options.ignore_eos, "go on where the model would end the text");
  app.add_flag("--no-display-prompt", options.hide_prompt, "print only what is new");
  auto* healing =
      app.add_flag("--token-healing", options.token_healing,
                   "let the first new token begin with the text of the prompt's last one");
  app.add_option("--samples", options.samples,
                 "so many texts for the same prompt, each with a seed of its own")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->type_name("N");
  auto* logprobs =
      app.add_option("--logprobs", options.logprobs,
                     "print a line for each token instead of the text: how likely the model found "
                     "it, and its N likeliest ones (natural logarithms, before any sampler)")
          ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 20))
          ->type_name("N");
  app.add_flag("--json", options.json, "those lines as JSON, as OpenAI's interface has them")
      ->needs(logprobs);
  cli::add_beam_flags(app, options.beams);
  cli::add_constraint_flags(app, options.constraint);
  auto* conversation =
      app.add_flag("--conversation,--cnv", options.conversation,
                   "the prompt is what a user says: the chat template puts it into words");
  app.add_option("--system", options.system, "the system prompt")->needs(conversation);
  for (auto* flag : cli::add_template_flags(app, options.chat_template)) flag->needs(conversation);
  const std::size_t n_options = app.get_options().size();
  cli::add_sampler_flags(app, options.sampler);
  const auto flags = app.get_options();
  // A search draws nothing. A seed does no harm.
  std::vector<CLI::Option*> not_with_beams{logprobs, healing};
  for (auto* flag : std::span(flags).subspan(n_options))
    if (!flag->check_name("--seed")) not_with_beams.push_back(flag);
  cli::add_prompt_cache_flags(app, options.cache);
  app.footer(
      "Examples:\n"
      "  generate\n"
      "  generate -m model.gguf -p 'The capital of France is' -n 20 --temp 0\n"
      "  generate -m model.gguf -p 'A user: ' --json-schema '{\"type\": \"object\"}'\n"
      "  head -c 2000 story.txt | generate -m model.gguf -f - -n 200 -s 7\n"
      "  generate -m model.gguf -f long.txt --prompt-cache long.cache   # the second time from the "
      "file\n"
      "  generate -m model.gguf -p 'Dear Mr. Wat' --token-healing\n"
      "  generate -m model.gguf -p 'A short poem:' -n 60 --beams 4 --samples 2\n"
      "  generate -m model.gguf -p 'The capital of France is' -n 3 --logprobs 5 --json");
  not_with_beams.push_back(app.get_option("--prompt-cache-all"));
  if (const auto code = cli::parse_flags(app, argc, argv)) return *code;
  cli::catch_interrupts(cli::Interrupts::once);
  return cli::run_program("generate", [&] {
    for (const auto* flag : not_with_beams)
      if (options.beams.beams > 0 && flag->count() > 0)
        fail<cli::UsageError>("--beams does not go with {}", flag->get_name());
    return generate(options);
  });
}
