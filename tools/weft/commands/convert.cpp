#include "weft/files/convert.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "weft/adapters/merge.h"
#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/base/printable.h"
#include "weft/ops/formats/format.h"
#include "weft/run/model.h"

#include "common/adapter_flags.h"
#include "common/override_flags.h"
#include "common/terminal_output.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

struct Flags {
  std::string model, out, type = "auto";
  bool allow_nonfinite = false, allow_unknown_settings = false;
  AdapterFiles adapters;
};

std::shared_ptr<const Model> load(const Flags& flags) {
  return Model::load(flags.model, {.progress = cli::continue_unless_interrupted,
                                   .allow_unknown_settings = flags.allow_unknown_settings});
}

// Shows the progress and the remaining time on a terminal.
class Progress {
 public:
  bool operator()(double share) {
    const auto now = cli::Clock::now();
    if (terminal_ && now - shown_ > std::chrono::milliseconds(200)) {
      shown_ = now;
      cli::send_controls(std::cerr, cli::kClearLine);
      std::cerr << fmt::format("{:3.0f} %", 100 * share);
      if (share > 0) std::cerr << fmt::format(", {:.0f} s left", seconds() * (1 - share) / share);
      std::cerr << std::flush;
    }
    return !cli::interrupted();
  }
  void clear() const {
    if (terminal_) cli::send_controls(std::cerr, cli::kClearLine);
  }
  double seconds() const { return cli::seconds_since(start_); }

 private:
  bool terminal_ = isatty(STDERR_FILENO);
  cli::Clock::time_point start_ = cli::Clock::now(), shown_ = start_;
};

void convert_to(const Checkpoint& file, const Flags& flags, Progress& progress) {
  ConvertOptions options{.allow_nonfinite = flags.allow_nonfinite, .progress = std::ref(progress)};
  if (flags.type != "auto") options.matrices = find_format_by_name(flags.type)->dtype;
  write_gguf(file, flags.out, options);
}

void write(const Checkpoint& file, const Flags& flags) {
  Progress progress;
  try {
    if (flags.adapters.loras.empty()) {
      convert_to(file, flags, progress);
    } else {
      write_merged(file, flags.adapters.loras, flags.out, std::ref(progress));
    }
  } catch (...) {
    progress.clear();
    throw;
  }
  progress.clear();
  std::cerr << fmt::format("{}: {} tensors of {} in {:.1f} s\n", printable_path(flags.out),
                           file.tensors().size(), human_bytes(file.file_bytes()),
                           progress.seconds());
}

// "MODEL-LORA.gguf" in the current folder.
std::string merged_name(const Flags& flags) {
  const auto stem = [](const std::string& path) {
    return std::filesystem::path(path).lexically_normal().stem().string();
  };
  return stem(flags.model) + "-" + stem(flags.adapters.loras.front().path) + ".gguf";
}

void check_flags(Flags& flags) {
  const bool merges = !flags.adapters.loras.empty();
  if (merges && (flags.type != "auto" || flags.allow_nonfinite))
    fail<cli::UsageError>("--type and --allow-nonfinite cannot be combined with --lora");
  if (!flags.out.empty()) return;
  if (!merges) fail<cli::UsageError>("the name of the GGUF file to write is missing");
  flags.out = merged_name(flags);
}

int convert(int argc, char** argv) {
  cli::App app(
      "Converts a directory with model.safetensors (or its shards), config.json and a tokenizer "
      "to a GGUF file, or merges LoRAs into the weights of a model. The file appears under its "
      "name when it is complete.",
      "weft convert");
  Flags flags;
  app.add_option("model,-m,--model", flags.model, "directory; with --lora also a GGUF file")
      .required();
  app.add_option("out,-o,--output", flags.out,
                 "GGUF file to write (with --lora, default: MODEL-LORA.gguf)");
  app.add_option("--type", flags.type, "type of the matrices; auto: unchanged")
      .one_of({"auto", "F32", "F16", "BF16"})
      .capture_default_str();
  app.add_flag("--allow-nonfinite", flags.allow_nonfinite,
               "allow weights that are infinite or NaN");
  cli::add_unknown_settings_flag(app, flags.allow_unknown_settings);
  cli::add_lora_flags(app, flags.adapters);
  app.footer(
      "Merged weights keep their types.\n"
      "Examples:\n"
      "  weft convert Qwen3-0.6B qwen3-0.6b.gguf\n"
      "  weft convert SmolLM2-135M smollm2.gguf --type F16\n"
      "  weft convert -m model.gguf --lora style.gguf -o merged.gguf\n"
      "  weft convert -m model.gguf --lora-scaled style.gguf:0.5 --lora facts.gguf");
  if (const auto code = parse_flags(app, argc, argv)) return *code;
  check_flags(flags);

  cli::catch_interrupts(cli::Interrupts::once);
  // Loading checks that all weights exist, and no unknown ones.
  const auto model = load(flags);
  if (!model->file().is_directory() && flags.adapters.loras.empty()) {
    fail<cli::UsageError>("{}: already a GGUF file, expected a directory",
                          printable_path(flags.model));
  }
  for (const std::string& warning : model->warnings())
    std::cerr << "weft convert: warning: " << warning << '\n';
  write(model->file(), flags);
  return 0;
}

}  // namespace

const Subcommand kConvert{"convert", "converts a directory of safetensors to a GGUF file", convert};

}  // namespace weft::tools
