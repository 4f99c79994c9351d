#include "weft/quantize/quantize.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/scheduler/workers.h"

#include "common/override_flags.h"
#include "common/terminal_output.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

struct Flags {
  std::string input, output, type;
  std::vector<std::string> tensor_types;  // REGEX=TYPE
  QuantizeOptions options;
  std::string imatrix;
  int workers = 0;
  bool dry_run = false, allow_unknown_settings = false;
};

void resolve(Flags& flags) {
  if (flags.dry_run && flags.type.empty()) std::swap(flags.output, flags.type);
  if (flags.type.empty())
    fail<cli::UsageError>(
        "an input file, an output file and a type are needed, as in\n"
        "  weft quantize in.gguf out.gguf Q4_K_M");
  QuantizeOptions& options = flags.options;
  options.type = flags.type;
  for (const std::string& rule : flags.tensor_types) {
    const std::size_t equals = rule.rfind('=');
    if (equals == std::string::npos || equals == 0)
      fail<cli::UsageError>("--tensor-type must be REGEX=TYPE, got '{}'", printable(rule));
    options.tensor_types.emplace_back(rule.substr(0, equals), rule.substr(equals + 1));
  }
  try {
    check(options);
  } catch (const ValueError& error) {
    fail<cli::UsageError>("{}", error.what());
  }
}

std::string line(const QuantizedTensor& t) {
  const std::string types = t.converts()
                                ? fmt::format("{} -> {}", t.tensor->spec.dtype.name(), t.to.name())
                                : std::string(t.tensor->spec.dtype.name());
  std::string text = fmt::format("  {:<36} {:<20} {:<18} {:>12}", printable(t.tensor->name),
                                 to_string(t.tensor->spec.shape), types, t.n_bytes);
  if (!t.note.empty()) text += fmt::format("   {}", t.note);
  return text + '\n';
}

std::string heading() {
  return fmt::format("  {:<36} {:<20} {:<18} {:>12}\n", "tensor", "shape", "type", "bytes");
}

std::string totals(const QuantizePlan& plan) {
  const auto bits = [&](std::int64_t bytes) {
    return 8.0 * static_cast<double>(bytes) /
           static_cast<double>(std::max<std::int64_t>(plan.n_weights, 1));
  };
  return fmt::format("{} tensors, {} weights: {} -> {} bytes, {:.2f} -> {:.2f} bits per weight\n",
                     plan.tensors.size(), plan.n_weights, plan.bytes_before, plan.bytes_after,
                     bits(plan.bytes_before), bits(plan.bytes_after));
}

int print_plan(const QuantizePlan& plan) {
  std::cout << heading();
  for (const QuantizedTensor& t : plan.tensors) std::cout << line(t);
  std::cout << totals(plan);
  const auto first = std::ranges::find_if(
      plan.tensors, [](const QuantizedTensor& t) { return !t.obstacle.empty(); });
  if (first == plan.tensors.end()) return 0;
  const auto n = std::ranges::count_if(
      plan.tensors, [](const QuantizedTensor& t) { return !t.obstacle.empty(); });
  fail<UnsupportedError>("{} tensors cannot be converted, first '{}' to {}: {}", n,
                         printable(first->tensor->name), first->to.name(), first->obstacle);
}

// On a terminal's stderr, how far it is and how long it will take.
class Progress {
 public:
  bool operator()(double share) {
    if (terminal_ && cli::seconds_since(shown_) > 0.2) {
      shown_ = cli::Clock::now();
      const double seconds = cli::seconds_since(start_);
      cli::send_controls(std::cerr, cli::kClearLine);
      std::cerr << fmt::format("{:3.0f} %", 100 * share);
      if (seconds > 1 && share > 0)
        std::cerr << fmt::format(", {:.0f} s left", seconds * (1 - share) / share);
      std::cerr << std::flush;
      on_screen_ = true;
    }
    return !cli::interrupted();
  }
  void clear() {
    if (on_screen_) cli::send_controls(std::cerr, cli::kClearLine);
    on_screen_ = false;
  }
  double seconds() const { return cli::seconds_since(start_); }

 private:
  const bool terminal_ = isatty(STDERR_FILENO);
  const cli::Clock::time_point start_ = cli::Clock::now();
  cli::Clock::time_point shown_ = start_;
  bool on_screen_ = false;
};

int run(Flags& flags) {
  std::optional<Imatrix> imatrix;
  if (!flags.imatrix.empty())
    flags.options.imatrix = &imatrix.emplace(Imatrix::read(flags.imatrix));
  const Checkpoint file = Checkpoint::open(flags.input, {flags.allow_unknown_settings});
  const QuantizePlan plan = plan_quantize(file, flags.options);
  for (const std::string& warning : plan.warnings)
    std::cerr << "weft quantize: warning: " << warning << '\n';
  if (flags.dry_run) return print_plan(plan);
  cli::catch_interrupts(cli::Interrupts::once);
  Progress progress;
  bool headed = false;
  // A reader of the table that went away does not stop the work.
  const auto finished = [&](const QuantizedTensor& t) {
    progress.clear();
    if (!headed) std::cout << heading();
    headed = true;
    std::cout << line(t) << std::flush;
  };
  quantize_file(file, plan, flags.options,
                {.workers = flags.workers, .progress = std::ref(progress), .finished = finished},
                flags.output);
  progress.clear();
  std::cout << totals(plan);
  std::cerr << fmt::format("{}: written in {:.1f} s\n", flags.output, progress.seconds());
  return 0;
}

std::string type_list() {
  std::string text;
  std::size_t column = 0;
  for (const std::string_view name : quantize_mixes()) {
    text += column == 0 ? "  " : ", ";
    text += name;
    column = (column + 1) % 12;
    if (column == 0) text += ",\n";
  }
  return text + '\n';
}

void add_flags(cli::App& app, Flags& flags) {
  app.add_option("IN", flags.input, "GGUF file; of a split model, the first part")
      .file_suffix(".gguf")
      .required();
  app.add_option("OUT", flags.output, "file to write; optional with --dry-run").required();
  app.add_option("TYPE", flags.type, "one of those below, in any case");
  app.add_option("--imatrix", flags.imatrix,
                 "importance matrix (weft imatrix), which weights the errors of columns")
      .type_name("FILE");
  app.add_option("--tensor-type", flags.tensor_types,
                 "type for tensors whose name REGEX matches; repeatable, the first that "
                 "matches counts")
      .expected(1)
      .take_all()
      .type_name("REGEX=TYPE");
  app.add_option("--output-tensor-type", flags.options.output_type, "type of output.weight")
      .type_name("TYPE");
  app.add_option("--token-embedding-type", flags.options.embedding_type,
                 "type of token_embd.weight")
      .type_name("TYPE");
  app.add_flag("--leave-output-tensor", flags.options.leave_output, "do not convert output.weight");
  app.add_flag("--pure", flags.options.pure, "one type for all tensors that the mix would convert");
  app.add_flag("--allow-requantize", flags.options.allow_requantize,
               "also convert tensors that are already quantized, which loses more precision");
  app.add_flag("--nonfinite-to-zero", flags.options.nonfinite_to_zero,
               "write 0 for weights that are NaN or infinite, instead of refusing them");
  cli::add_unknown_settings_flag(app, flags.allow_unknown_settings);
  app.add_flag("--dry-run", flags.dry_run, "print the table of tensors without writing a file");
  app.add_option("-t,--threads", flags.workers, "number of workers; 0: two, if there are two CPUs")
      .range(0, kMaxWorkers)
      .type_name("N");
  app.footer("Types:\n" + type_list() +
             "\nExamples:\n"
             "  weft quantize model-F16.gguf model-Q4_K_M.gguf Q4_K_M\n"
             "  weft quantize model-F16.gguf Q4_K_M --dry-run\n"
             "  weft quantize model-F16.gguf out.gguf Q4_K_M --tensor-type 'ffn_down=Q6_K'\n"
             "  weft quantize model-F16.gguf model-IQ3_XXS.gguf IQ3_XXS --imatrix model.imatrix\n"
             "  weft quantize model-00001-of-00003.gguf model.gguf COPY");
}

int quantize(int argc, char** argv) {
  cli::App app(
      "Converts a GGUF file to other weight types. TYPE names a mix, which gives sensitive "
      "tensors\n"
      "more bits than others; norms and other small tensors are not converted.",
      "weft quantize");
  Flags flags;
  add_flags(app, flags);
  if (const auto code = parse_flags(app, argc, argv)) return *code;
  resolve(flags);
  return run(flags);
}

}  // namespace

const Subcommand kQuantize{"quantize", "converts a GGUF file to other weight types", quantize};

}  // namespace weft::tools
