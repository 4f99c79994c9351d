#include "generate/flags.h"

#include <algorithm>

#include "weft/serve/generation_knobs.h"

#include "common/knob_flags.h"
#include "common/program.h"

namespace weft::generate {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  generate\n"
    "  generate -m model.gguf -p 'The capital of France is' -n 20 --temp 0\n"
    "  generate -m model.gguf -p 'A user: ' --json-schema '{\"type\": \"object\"}'\n"
    "  head -c 2000 story.txt | generate -m model.gguf -f - -n 200 -s 7\n"
    "  generate -m model.gguf -f long.txt --prompt-cache long.cache   # the second time from the "
    "file\n"
    "  generate -m model.gguf -p 'Dear Mr. Wat' --token-healing\n"
    "  generate -m model.gguf -f edit.txt --spec-type ngram-simple    # texts that repeat the "
    "prompt\n"
    "  generate -m model.gguf -md small.gguf --spec-type ngram-simple,draft\n"
    "  generate -m model.gguf -p 'A short poem:' -n 60 --beams 4 --samples 2\n"
    "  generate -m model.gguf -p 'The capital of France is' -n 3 --logprobs 5 --json\n"
    "  generate -m llada.gguf -p 'A short poem:' -n 64 --diffusion-steps 32 "
    "--diffusion-block-length 32";

std::string unescaped(std::string_view text) {
  static constexpr std::string_view kFrom = "nrt\"'\\", kTo = "\n\r\t\"'\\";
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t known =
        text[i] == '\\' && i + 1 < text.size() ? kFrom.find(text[i + 1]) : kFrom.npos;
    result += known == kFrom.npos ? text[i] : kTo[known];
    if (known != kFrom.npos) ++i;
  }
  return result;
}

void add_text_flags(cli::App& app, Options& options) {
  const cli::Option prompt = app.add_option("-p,--prompt", options.prompt,
                                            "the text to continue; '' for none, - is stdin");
  app.add_flag("-e,--escape", options.escapes,
               "replace \\n, \\r, \\t, \\\", \\' and \\\\ in the prompt of -p")
      .needs(prompt);
  app.add_option("-f,--file", options.prompt_file, "read the prompt from a file; - is stdin")
      .excludes(prompt);
  cli::add_length_flag(app, options.predict, ", or 128 tokens with a diffusion model");
  const KnobText& ignore_eos = find_knob(generation_knobs(), "ignore_eos");
  app.add_flag(std::string(ignore_eos.flags), options.ignore_eos, cli::help_text(ignore_eos));
  cli::add_context_flags(app, options.context_end);
  app.add_flag("--no-display-prompt", options.hide_prompt, "print only the new text");
  app.add_option("--samples", options.samples,
                 "number of texts for the same prompt, each with its own seed")
      .range(1, std::int64_t{1} << 20)
      .type_name("N");
}

void add_beam_flags(cli::App& app, Options& options) {
  const cli::Option beams =
      app.add_option("--beams", options.beams,
                     "search for the likeliest text as a whole with N beams; with "
                     "--samples K, print the K best")
          .range(1, 1024)
          .type_name("N");
  app.add_option("--length-penalty", options.search.length_penalty,
                 "a text's log probability is divided by its length to this power; 0: short texts "
                 "win, above 1: long ones")
      .real_range(-10.0, 10.0)
      .capture_default_str()
      .needs(beams)
      .type_name("X");
  static constexpr EarlyStopping kAll[] = {EarlyStopping::first, EarlyStopping::likely,
                                           EarlyStopping::never};
  app.add_option_function(
         "--early-stopping",
         [&options](const std::string& name) {
           options.search.stopping =
               *std::ranges::find(kAll, name, [](EarlyStopping s) { return to_string(s); });
         },
         "once N texts are complete, end the search at once (first), when others are not likely to "
         "be better (likely, the default), or cannot be (never)")
      .one_of({"first", "likely", "never"})
      .needs(beams)
      .type_name("WHEN");
  cli::add_cells_flag(app, options.model.session).needs(beams);
}

void add_diffusion_flags(cli::App& app, Options& options) {
  DiffusionOptions& o = options.diffusion;
  std::vector<cli::Option> flags;
  const auto add = [&]<class M>(const char* name, M& value, const char* what) {
    flags.push_back(cli::with_limits<M>(app.add_option(name, value, what), {})
                        .capture_default_str()
                        .type_name("X"));
  };
  add("--diffusion-steps", o.steps, "steps in which a diffusion model fills in the -n tokens");
  std::vector<std::string> names;
  for (const DiffusionAlgorithm a : diffusion_algorithms()) names.emplace_back(to_string(a));
  flags.push_back(
      app.add_option_function(
             "--diffusion-algorithm",
             [&o](const std::string& name) {
               o.algorithm = *std::ranges::find(diffusion_algorithms(), name,
                                                [](DiffusionAlgorithm a) { return to_string(a); });
             },
             "which tokens a step fills in: those of the highest probability (confidence, the "
             "default), lowest entropy, highest margin between the two best, or random ones")
          .one_of(names)
          .type_name("NAME"));
  add("--diffusion-alg-temp", o.algorithm_temperature,
      "draw these tokens with this temperature; 0: always the best");
  add("--diffusion-block-length", o.block_length,
      "fill in blocks of this many tokens from left to right (LLaDA); 0: the whole text at once");
  add("--diffusion-eps", o.eps, "without blocks: share of tokens left to the last step");
  add("--diffusion-cfg-scale", o.guidance,
      "classifier-free guidance by the prompt, which doubles the time of a step; 0: none");
  add("--diffusion-mask-token", o.mask_token, "id of the mask token; -1: that of the vocabulary");
  flags.push_back(app.add_flag("--diffusion-visual", options.diffusion_visual,
                               "print a line per step to stderr, also if it is not a terminal"));
  for (const cli::Option flag : flags)
    flag.each([&options, flag](const std::string&) { options.only_with_diffusion = flag.name(); });
}

void add_prompt_cache_flags(cli::App& app, Options& options) {
  const cli::Option path =
      app.add_option("--prompt-cache", options.cache_path,
                     "keep the computed prompt in this file, for runs with the same beginning");
  app.add_flag("--prompt-cache-all", options.cache_all, "also keep the generated text").needs(path);
  app.add_flag("--prompt-cache-ro", options.cache_read_only, "use the file without changing it")
      .needs(path);
}

void add_conversation_flags(cli::App& app, Options& options) {
  const cli::Option conversation =
      app.add_flag("--conversation,--cnv", options.conversation,
                   "the prompt is a user's message, to be rendered with the chat template");
  app.add_option("--system", options.system, "the system prompt").needs(conversation);
  for (const cli::Option flag : cli::add_template_flags(app, options.chat_template))
    flag.needs(conversation);
}

}  // namespace

std::optional<int> read_flags(int argc, char** argv, Options& options) {
  cli::App app("Continues a text. The text goes to stdout as it comes, speeds to stderr.",
               "generate");
  app.footer(kExamples);
  cli::add_model_flags(app, options.model);
  cli::add_expert_usage_flag(app, options.model);
  add_text_flags(app, options);
  add_beam_flags(app, options);
  add_diffusion_flags(app, options);
  cli::add_constraint_flags(app, options.constraint);
  add_conversation_flags(app, options);
  add_prompt_cache_flags(app, options);
  cli::add_draft_flags(app, options.drafts);

  const std::size_t n_others = app.get_options().size();
  app.add_flag("--token-healing", options.token_healing,
               "let the first new token begin with the text of the prompt's last one");
  const cli::Option logprobs =
      app.add_option("--logprobs", options.logprobs,
                     "print a line for each token instead of the text: how likely the model found "
                     "it, and the N most likely ones (natural logarithms, before any sampler)")
          .range(0, 1 << 20)
          .type_name("N");
  app.add_flag("--json", options.json, "print these lines as JSON, as in OpenAI's API")
      .needs(logprobs);
  cli::add_sampler_flags(app, options.sampler);
  if (const auto code = cli::parse_flags(app, argc, argv)) return code;
  if (app.get_option("--prompt").given() && options.prompt == "-") options.prompt_file = "-";
  if (options.escapes) options.prompt = unescaped(options.prompt);

  // Beam search does not sample, so sampler flags are refused, except for the seed.
  auto flags = app.get_options();
  flags.erase(flags.begin(), flags.begin() + static_cast<std::ptrdiff_t>(n_others));
  flags.push_back(app.get_option("--prompt-cache-all"));
  flags.push_back(app.get_option("--model-draft"));
  if (!options.drafts.speculation.kinds.empty()) flags.push_back(app.get_option("--spec-type"));
  for (const cli::Option flag : flags)
    if (flag.given() && flag.name() != "--seed") options.not_with_beams = flag.name();
  return std::nullopt;
}

void complete_options(Options& o) {
  cli::complete(o.drafts, o.model);
  if (o.beams > 0 && !o.not_with_beams.empty())
    fail<cli::UsageError>("--beams cannot be combined with {}", o.not_with_beams);
  if (o.beams > 0 && o.context_end.end != ContextEnd::stop)
    fail<cli::UsageError>("--beams cannot be combined with --context-end");
  if (o.beams > 0 && o.samples > o.beams)
    fail<cli::UsageError>("{} beams find no more than {} texts, --samples asks for {}", o.beams,
                          o.beams, o.samples);
  if (o.logprobs >= 0 && o.samples > 1)
    fail<cli::UsageError>("--logprobs shows one text, --samples asks for {}", o.samples);
  if (o.beams == 0) return;
  SessionOptions& session = o.model.session;
  session.sequences = o.beams;
  session.prefill_width = std::max<std::int64_t>(session.prefill_width, o.beams);
  o.search.beams = static_cast<std::size_t>(o.beams);
  o.drafts.kinds_given = true;  // none, also of a model with a layer for them
}

}  // namespace weft::generate
