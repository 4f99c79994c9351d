#include "weft/measure/bench.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "weft/base/error.h"
#include "weft/base/text.h"
#include "weft/measure/drafts.h"
#include "weft/run/ranks.h"
#include "weft/run/session.h"
#include "weft/run/session_knobs.h"
#include "weft/scheduler/budget.h"
#include "weft/scheduler/workers.h"
#include "weft/serve/prompt.h"

#include "common/draft_flags.h"
#include "common/flags.h"
#include "common/read_text.h"
#include "common/terminal_output.h"
#include "common/tune_once.h"
#include "inputs/token_list.h"
#include "made/made_model.h"
#include "reports/bench_report.h"
#include "reports/kept_limits.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

using bench::Phase;
using bench::Report;
using bench::Row;
using bench::Test;

struct Flags {
  cli::ModelFlags model;
  std::string prompts = "512", predicts = "64", depths = "0", widths, workers = "0";
  std::vector<std::string> executors = {"auto"};
  std::int64_t repeats = 5;
  bool json = false, no_limits = false, only_limits = false;
  std::vector<std::string> make_model;  // shape, type, file
  bool speculate = false;
  cli::DraftFlags drafts;
  std::string prompt_file;
  double acceptance = -1;  // below 0: that of the drafts
};

int make(const std::vector<std::string>& what) {
  const MadeShape shape = parse_shape(what[0]);
  std::cerr << fmt::format("{}: {:.3f}e9 parameters in {}\n", what[2],
                           static_cast<double>(shape.parameters()) / 1e9, what[1]);
  const bool terminal = isatty(STDERR_FILENO);
  cli::catch_interrupts(cli::Interrupts::once);
  make_model(shape, what[1], what[2], [&](double done) {
    if (terminal) {
      cli::send_controls(std::cerr, "\r");
      std::cerr << fmt::format("{:3.0f} %", 100 * done);
    }
    return !cli::interrupted();
  });
  if (terminal) std::cerr << '\n';
  return 0;
}

// The counts of a list flag; zeros are dropped unless `keep_zero`.
std::vector<std::int64_t> counts(std::string_view flag, const std::string& text, bool keep_zero) {
  std::vector<std::int64_t> values;
  if (text.empty()) return values;
  for (const std::int32_t value : parse_list(flag, text)) {
    if (value < 0) fail<cli::UsageError>("{} must not be negative, got {}", flag, value);
    if (value > 0 || keep_zero) values.push_back(value);
  }
  return values;
}

std::vector<Test> tests_of(const Flags& flags) {
  std::vector<Test> tests;
  for (const std::int64_t depth : counts("-d", flags.depths, true)) {
    const auto add = [&](Phase phase, const std::vector<std::int64_t>& list) {
      for (const std::int64_t n : list)
        tests.push_back({.phase = phase, .tokens = n, .depth = depth});
    };
    add(Phase::prefill, counts("-p", flags.prompts, false));
    add(Phase::decode, counts("-n", flags.predicts, false));
    add(Phase::step, counts("--widths", flags.widths, false));
  }
  if (tests.empty()) fail<cli::UsageError>("-p 0 and -n 0: nothing to measure");
  return tests;
}

std::vector<int> workers_of(const Flags& flags) {
  std::vector<int> workers;
  for (const std::int64_t n : counts("-t", flags.workers, true)) {
    if (n > kMaxWorkers) fail<cli::UsageError>("-t must be at most {}, got {}", kMaxWorkers, n);
    workers.push_back(n > 0 ? static_cast<int>(n) : default_workers());
  }
  return workers;
}

// Makes the context and prefill width large enough for every test; throws if the flags forbid that.
void fit(const std::vector<Test>& tests, SessionOptions& options) {
  std::int64_t max_positions = 0, widest = 0;
  for (const Test& test : tests) {
    max_positions = std::max(max_positions, test.depth + test.tokens);
    if (test.phase == Phase::step) widest = std::max(widest, test.tokens);
  }
  if (options.context == 0) options.context = max_positions;
  if (max_positions > options.context)
    fail<cli::UsageError>("{} tokens do not fit a context of {}", max_positions, options.context);
  if (widest > kMaxPrefillWidth)
    fail<cli::UsageError>("--widths must be at most {}, got {}", kMaxPrefillWidth, widest);
  options.prefill_width = std::max(options.prefill_width, widest);
}

// All combinations of numbers of workers and executors.
std::vector<std::pair<int, std::optional<ReplayKind>>> runs_of(const Flags& flags) {
  std::vector<std::pair<int, std::optional<ReplayKind>>> runs;
  for (const int workers : workers_of(flags)) {
    for (const std::string& name : flags.executors)
      set_by_name(runs.emplace_back(workers, std::nullopt).second, "executor", name);
  }
  return runs;
}

int print_limits(const Flags& flags) {
  std::vector<MachineLimits> limits;
  for (const int workers : workers_of(flags))
    limits.push_back(bench::measure_limits(workers, default_budget() / 2));
  std::cout << to_text(limits);
  return 0;
}

int measure_all(Flags& flags) {
  const std::vector<Test> tests = tests_of(flags);
  fit(tests, flags.model.session);
  cli::catch_interrupts(cli::Interrupts::once);
  cli::tune_once(flags.model);
  const auto model = cli::load_inspected_model(flags.model, cli::load_progress);
  Report report{.model = flags.model.path, .architecture = model->facts().architecture};
  Fnv1a64 hash;  // hash of the logits
  std::int64_t unused = 0;
  for (const auto& [workers, executor] : runs_of(flags)) {
    flags.model.session.workers = workers;
    flags.model.session.executor = executor;
    Session session(model, flags.model.session);
    cli::print_concessions(session);
    const std::vector<Row> rows =
        bench::measure(session, tests, flags.repeats, hash, &cli::interrupted());
    report.rows.insert(report.rows.end(), rows.begin(), rows.end());
    report.backend = session.options().backend;
    report.batch = session.options().prefill_width;
    report.memory = session.memory().total();
    unused = session.options().mem_budget - report.memory;
  }
  report.logits_hash = hash.value();
  report.links = measure_links(*model);
  // Measured last, because it raises the peak of memory.
  if (!flags.no_limits) {
    for (const int workers : workers_of(flags))
      report.limits.push_back(bench::measure_limits(workers, unused / 2));
  }
  std::cout << (flags.json ? to_json(report) : to_text(report));
  return 0;
}

// The file's text, or random tokens.
std::vector<TokenId> prompt_of(const Flags& flags, const Model& model) {
  if (!flags.prompt_file.empty())
    return encode_prompt(model, with_line_feeds(cli::read_text(flags.prompt_file)));
  const auto n = counts("-p", flags.prompts, false);
  std::mt19937 random(1);
  std::vector<TokenId> tokens(static_cast<std::size_t>(n.empty() ? 1 : n.front()));
  for (TokenId& id : tokens)
    id = static_cast<TokenId>(random() % static_cast<unsigned>(model.facts().n_vocab));
  return tokens;
}

int measure_speculation(Flags& flags) {
  cli::complete(flags.drafts, flags.model);
  cli::catch_interrupts(cli::Interrupts::once);
  cli::tune_once(flags.model);
  const auto model = cli::load_model(flags.model, cli::load_progress);
  const std::vector<std::int64_t> predicts = counts("-n", flags.predicts, false);
  bench::DraftTest test{.prompt = prompt_of(flags, *model),
                        .tokens = predicts.empty() ? 64 : predicts.front(),
                        .repeats = flags.repeats};
  if (flags.acceptance >= 0) test.acceptance = flags.acceptance;
  SessionOptions& o = flags.model.session;
  if (o.context == 0) o.context = std::ssize(test.prompt) + test.tokens + 64;
  o.workers = workers_of(flags).front();
  SessionOptions plain_options = o;
  const SpeculationOptions drafts = cli::speculation_options(flags.drafts, *model, flags.model);
  if (drafts.kinds.empty())
    fail<cli::UsageError>("the model has no draft layer: give -md FILE or --spec-type");
  MemoryOffer offer = plan_memory(*model, cli::demand_of_texts(*model, o, drafts));
  Session session(std::move(offer.planned), model);
  cli::print_concessions(session);
  Session plain(model, plain_options);
  const Speculation speculation(session, drafts, std::move(offer.drafts));
  const bench::DraftReport report =
      bench::measure_drafts(plain, session, speculation, test, &cli::interrupted());
  std::cout << (flags.json ? to_json(report, test) : to_text(report, test));
  return 0;
}

void add_speculation_flags(cli::App& app, Flags& flags) {
  const cli::Option speculate =
      app.add_flag("--speculate", flags.speculate,
                   "measure what drafts gain: the same text of -n tokens with and without them, in "
                   "turn, after -p random tokens or a prompt");
  app.add_option("-f,--file", flags.prompt_file, "with --speculate: the prompt; - is stdin")
      .needs(speculate)
      .type_name("FILE");
  app.add_option("--acceptance", flags.acceptance,
                 "with --speculate: guesses cost what they cost, but are right with this "
                 "probability each")
      .real_range(0, 1)
      .needs(speculate)
      .type_name("P");
  cli::add_draft_flags(app, flags.drafts);
}

void add_lists(cli::App& app, Flags& flags) {
  const auto add = [&](const char* names, std::string& list, const char* what) {
    app.add_option(names, list, what).capture_default_str().type_name("N[,N...]");
  };
  add("-p,--n-prompt", flags.prompts, "number of prompt tokens; 0: none");
  add("-n,--n-gen", flags.predicts, "number of tokens to decode, one by one; 0: none");
  add("-d,--n-depth", flags.depths, "number of tokens already in the cache, with random contents");
  add("--widths", flags.widths, "steps of that many tokens of one sequence");
  app.remove_option("--threads");
  add("-t,--threads", flags.workers, "number of workers; 0: two, or fewer on smaller machines");
  app.remove_option("--executor");
  app.add_option(
         "--executor", flags.executors,
         "who runs plans with several workers: flow, crew, auto, or several of them to compare")
      .delimiter(',')
      .one_of(value_names(std::optional<ReplayKind>()))
      .take_all()
      .type_name("NAME[,NAME...]");
}

void add_flags(cli::App& app, Flags& flags) {
  cli::add_model_flags(app, flags.model);
  add_lists(app, flags);
  app.add_option("-r,--repetitions", flags.repeats, "repetitions after one warm-up run")
      .range(1, 1000)
      .capture_default_str();
  app.add_flag("--no-limits,--no-bandwidth", flags.no_limits,
               "do not measure the machine's limits");
  app.add_flag("--limits", flags.only_limits, "measure only the machine's limits");
  app.add_flag("--json", flags.json, "print one JSON object");
  add_speculation_flags(app, flags);
  app.add_option("--make-model", flags.make_model,
                 "write a model file with random weights, without measuring")
      .expected(3)
      .type_name("SHAPE TYPE FILE");
  app.get_option("--model").required(false);
  app.footer([] {
    return std::string(
        "Columns: workers and who runs them (flow, crew, or the caller alone); the median of the\n"
        "repetitions and the median distance from it; the bytes of weights and cache that a token\n"
        "must read, and the share of the speed at which memory can be read; the model's\n"
        "multiply-adds and their share of the peak (int8 if weights are quantized, f32 "
        "otherwise);\n"
        "joins per token; nanoseconds per node; peak RSS so far.\n\n"
        "Shapes of --make-model: a name, or dimensions as in these lines (E and tied are "
        "optional):\n" +
        known_shapes() +
        "Types: Q4_K_M, or any type of `weft codec` for all matrices\n\n"
        "Examples:\n"
        "  weft bench -m model.gguf\n"
        "  weft bench -m model.gguf -p 512,2048 -n 128 -d 0,4096 -r 3 -t 1,2 --json\n"
        "  weft bench -m model.gguf -p 0 -n 64 --executor flow,crew\n"
        "  weft bench -m model.gguf -p 0 -n 0 --widths 1,2,4,8,16,32,64\n"
        "  weft bench -m model.gguf --speculate --spec-type ngram-simple -f edit.txt -n 200\n"
        "  weft bench -m 1.1b-mtp.gguf --speculate --acceptance 0.7\n"
        "  weft bench --limits -t 1,2\n"
        "  weft bench --make-model 1.1b Q4_K_M random.gguf\n"
        "  weft bench --make-model D=512,F=1536,L=8,H=8,G=2,V=32000 Q8_0 random.gguf");
  });
}

int bench(int argc, char** argv) {
  cli::App app(
      "Measures how fast a model reads a prompt and generates tokens, and which share of the\n"
      "machine's limits that is.",
      "weft bench");
  Flags flags;
  add_flags(app, flags);
  if (const auto code = parse_flags(app, argc, argv)) return *code;
  if (!flags.make_model.empty()) return make(flags.make_model);
  if (flags.only_limits) return print_limits(flags);
  if (flags.model.path.empty()) fail<cli::UsageError>("-m is required");
  return flags.speculate ? measure_speculation(flags) : measure_all(flags);
}

}  // namespace

const Subcommand kBench{
    "bench", "tokens per second of prefill and decode, and their share of the machine's limits",
    bench};

}  // namespace weft::tools
