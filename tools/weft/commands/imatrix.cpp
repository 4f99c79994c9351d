#include "weft/quantize/imatrix.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/measure/imatrix_collector.h"
#include "weft/run/draft_reading.h"
#include "weft/run/modes.h"

#include "common/flags.h"
#include "inputs/windows.h"
#include "reports/progress.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

constexpr std::int64_t kDefaultSize = 512;
constexpr std::int64_t kNothing = -1;  // for Flags::windows: 0 means all

struct Flags {
  cli::ModelFlags model;
  std::string text, out = "imatrix.gguf";
  std::vector<std::string> earlier;
  std::int64_t windows = 0, first = 0, save_every = 10;
  bool output = false, resume = false;
};

// The sum of all earlier files. In files that count calls of unknown size, a call counts as
// `chunk_size` tokens; 0: the chunk size of the first file that has one.
Imatrix read_earlier(const std::vector<std::string>& paths, std::int64_t chunk_size) {
  std::vector<Imatrix> all;
  for (const std::string& path : paths) all.push_back(Imatrix::read(path));
  Imatrix sum;
  sum.chunk_size = chunk_size;
  for (const Imatrix& m : all) {
    if (sum.chunk_size == 0) sum.chunk_size = m.chunk_size;
  }
  if (sum.chunk_size == 0) sum.chunk_size = kDefaultSize;
  for (const Imatrix& m : all) sum.add(m);
  return sum;
}

// With --resume: the result of an interrupted run on the same text, and where it stopped.
void resume(Flags& flags) {
  if (!flags.resume || !std::filesystem::exists(flags.out)) return;
  const Imatrix left = Imatrix::read(flags.out);
  if (left.datasets != std::vector{flags.text} || left.chunk_size != flags.model.session.context) {
    fail<ValueError>(
        "{}: cannot be resumed: it is of {} in windows of {} tokens, expected {} in windows "
        "of {}",
        printable_path(flags.out),
        left.datasets.size() == 1 ? printable_path(left.datasets[0])
                                  : fmt::format("{} texts", left.datasets.size()),
        left.chunk_size, printable_path(flags.text), flags.model.session.context);
  }
  flags.earlier.push_back(flags.out);
  flags.first += left.chunk_count;
  if (flags.windows > 0) {
    flags.windows -= left.chunk_count;
    if (flags.windows <= 0) flags.windows = kNothing;
  }
}

SessionOptions session_for(const Flags& flags, const Model& model) {
  SessionOptions options = flags.model.session;
  options.prefill_width = std::min(options.prefill_width, options.context);
  options.reserved += ImatrixCollector::bytes_of_stacked(model);
  options.draft_layer = model.facts().drafts && !options.embeddings;
  options.logits_rows = flags.output ? rows_that_fit(model, options.prefill_width) : 1;
  return options;
}

class Run {
 public:
  Run(const Flags& flags, const Model& model, Session& session, Windows windows)
      : flags_(flags),
        session_(session),
        windows_(std::move(windows)),
        earlier_(read_earlier(flags.earlier, windows_.size)),
        collector_(session, {.output = flags.output}) {
    check(model);
    if (session.options().draft_layer) observe_drafts(session, &collector_);
  }

  // Returns the number of windows that were run: fewer than all at Ctrl-C.
  std::int64_t all() {
    Progress progress("window", windows_.count());
    for (std::int64_t i = 0; i < windows_.count(); ++i) {
      try {
        if (!one(i)) return i;
      } catch (const Error&) {  // keep the sums collected before
        if (i > 0) save(i);
        throw;
      }
      const bool last = i + 1 == windows_.count();
      const bool due = flags_.save_every > 0 && (i + 1) % flags_.save_every == 0;
      if (last || due) save(i + 1);
      progress.show(i + 1, fmt::format("{} tokens", (i + 1) * windows_.size));
    }
    return windows_.count();
  }

  void save(std::int64_t n_windows) const {
    Imatrix m = collector_.collected();
    m.chunk_count = n_windows;
    m.chunk_size = windows_.size;
    if (!flags_.resume || flags_.earlier.empty()) m.datasets = {flags_.text};
    Imatrix all = earlier_;
    all.add(m);
    all.write(flags_.out);
  }

  const Windows& windows() const { return windows_; }

 private:
  // Checks that earlier files belong to this model, before anything is run.
  void check(const Model& model) const {
    for (const auto& [name, entry] : earlier_.entries) {
      const CheckpointTensor* tensor = model.file().find_tensor(name);
      if (!tensor) {
        fail<ValueError>("--in-file: the model has no weight '{}': is it of another model?",
                         printable(name));
      }
      const Shape& shape = tensor->spec.shape;
      const std::int64_t experts = shape.n_dims() == 3 ? shape[0].bound : 1;
      earlier_.importances(name, shape[shape.n_dims() - 1].bound, experts);
    }
  }

  // Returns false after Ctrl-C; the sums then end with the previous window.
  bool one(std::int64_t i) {
    const auto wants = [&](std::size_t) { return flags_.output; };
    // An incomplete window does not count.
    if (cli::interrupted()) return false;
    try {
      run_window(session_, windows_.at(i), windows_.bos, &cli::interrupted(), &collector_, wants,
                 [](std::size_t, std::span<const float>) {});
      if (session_.options().draft_layer) read_for_drafts(session_, 0, &cli::interrupted());
    } catch (const CancelledError&) {
      collector_.drop();
      return false;
    }
    collector_.keep();
    return true;
  }

  const Flags& flags_;
  Session& session_;
  Windows windows_;
  Imatrix earlier_;
  ImatrixCollector collector_;
};

// Combines earlier files, without a model and a text.
int combine(const Flags& flags) {
  if (flags.earlier.empty()) throw cli::UsageError("-f is required: the text to read");
  const Imatrix all = read_earlier(flags.earlier, 0);
  all.write(flags.out);
  std::cout << fmt::format("{}: {} weights, {} windows of {} tokens\n", printable_path(flags.out),
                           all.entries.size(), all.chunk_count, all.chunk_size);
  return 0;
}

int collect(Flags& flags) {
  const std::int64_t first = flags.first;
  resume(flags);
  if (flags.windows == kNothing) return 0;
  const auto model =
      flags.output ? cli::load_model(flags.model) : cli::load_inspected_model(flags.model);
  check_output(model->file(), flags.out);
  Windows windows =
      read_windows(*model, flags.text, flags.model.session.context, flags.first, flags.windows);
  if (windows.count() == 0) {
    if (flags.first > first) return 0;  // everything was already done
    fail<ValueError>("{}: no window is left after the first {}", printable_path(flags.text),
                     flags.first);
  }
  Session session(model, session_for(flags, *model));
  cli::print_concessions(session);
  Run run(flags, *model, session, std::move(windows));
  const std::int64_t done = run.all();
  if (done == run.windows().count()) {
    std::cout << fmt::format("{}: {} windows of {} tokens\n", printable_path(flags.out), done,
                             run.windows().size);
    return 0;
  }
  if (done > 0) run.save(done);
  std::cerr << fmt::format("stopped after window {} of {}{}\n", done, run.windows().count(),
                           done > 0 ? "; --resume continues from there" : "");
  return cli::kInterrupted;
}

void add_flags(cli::App& app, Flags& flags) {
  flags.model.session.context = kDefaultSize;
  cli::add_model_flags(app, flags.model);
  const cli::Option text =
      app.add_option("-f,--file", flags.text,
                     "the text; - for stdin. Without it, the files of --in-file are put "
                     "together");
  text.type_name("FILE");
  app.add_option("-o,--output", flags.out, "the GGUF file to write")
      .capture_default_str()
      .type_name("FILE");
  app.add_option("--chunks", flags.windows, "maximum number of windows; 0: all")
      .not_negative()
      .type_name("N");
  app.add_option("--from-chunk", flags.first, "number of windows to skip at the start")
      .not_negative()
      .type_name("N");
  const cli::Option earlier = app.add_option(
      "--in-file", flags.earlier, "add this file (GGUF or the binary format); repeatable");
  earlier.take_all().type_name("FILE");
  app.add_flag("--resume", flags.resume, "continue an earlier run that wrote the same file")
      .excludes(earlier);
  app.add_option("--save-every", flags.save_every, "save after this many windows; 0: never")
      .capture_default_str()
      .not_negative()
      .type_name("N");
  app.add_flag("--process-output", flags.output, "include the output projection");
  app.get_option("--ctx-size").description("tokens per window").default_str("512");
  app.footer(
      "Examples:\n"
      "  weft imatrix -m model-f16.gguf -f calibration.txt -o imatrix.gguf\n"
      "  weft imatrix -m model-f16.gguf -f calibration.txt -o imatrix.gguf --resume\n"
      "  weft imatrix --in-file one.gguf --in-file two.dat -o both.gguf");
}

// The collector sees the inputs of rank 0 only.
void check_not_divided(const Sharding& sharding) {
  if (sharding.ranks() == 1) return;
  fail<cli::UsageError>("--shard: {}", why_not(Feature::importance, Mode::sharded));
}

int imatrix(int argc, char** argv) {
  cli::App app(
      "Runs a model over a text and computes the importance matrix for quantizing: the mean\n"
      "squares of each weight's inputs. Ctrl-C saves the result so far.",
      "weft imatrix");
  Flags flags;
  add_flags(app, flags);
  if (const auto code = parse_flags(app, argc, argv)) return *code;
  check_not_divided(flags.model.sharding);
  if (flags.text.empty()) return combine(flags);
  const std::int64_t size = flags.model.session.context;
  if (size < 2 || size > ImatrixCollector::kMaxTokens) {
    throw cli::UsageError(
        fmt::format("-c must be 2 to {} tokens, got {}", ImatrixCollector::kMaxTokens, size));
  }
  cli::catch_interrupts(cli::Interrupts::once);
  return collect(flags);
}

}  // namespace

const Subcommand kImatrix{"imatrix", "computes an importance matrix for quantizing", imatrix};

}  // namespace weft::tools
