#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/base/printable.h"
#include "weft/files/rank_file.h"
#include "weft/run/split_model.h"

#include "common/flags.h"
#include "common/override_flags.h"
#include "common/rank_flags.h"
#include "reports/progress.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

namespace fs = std::filesystem;

struct Flags {
  std::string model, folder;
  Sharding sharding;
  std::optional<std::int32_t> rank;  // none: all
  bool allow_unknown_settings = false;
};

void check_flags(const Flags& flags) {
  cli::refuse_launch("weft split-for");
  if (flags.sharding.ranks() == 1) fail<cli::UsageError>("--shard must name several ranks, got 1");
  if (flags.rank) cli::check_rank_flag(*flags.rank, flags.sharding);
}

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail<IoError>("{}: cannot be made: {}", printable_path(folder), error.message());
}

void write(const Model& model, const Flags& flags, int rank) {
  const std::string path = fs::path(flags.folder) / rank_file_name(rank, flags.sharding.ranks());
  {
    Progress progress("percent", 100);
    const auto start = cli::Clock::now();
    write_part_of_rank(model, flags.sharding, rank, path, [&](double share) {
      if (cli::seconds_since(start) > 1)
        progress.show(std::max<std::int64_t>(1, std::llround(100 * share)), path);
      return !cli::interrupted();
    });
  }
  std::cout << fmt::format("{}  {}\n", printable_path(path),
                           human_bytes(static_cast<std::int64_t>(fs::file_size(path))))
            << std::flush;
}

int run(const Flags& flags) {
  cli::catch_interrupts(cli::Interrupts::once);
  const auto model =
      Model::load(flags.model, {.progress = cli::continue_unless_interrupted,
                                .allow_unknown_settings = flags.allow_unknown_settings});
  make_folder(flags.folder);
  for (int rank = 0; rank < flags.sharding.ranks(); ++rank)
    if (flags.rank.value_or(rank) == rank) write(*model, flags, rank);
  return 0;
}

void add_flags(cli::App& app, Flags& flags) {
  app.add_option("-m,--model", flags.model, "GGUF file, or directory of safetensors")
      .file_suffix(".gguf")
      .required()
      .type_name("FILE");
  app.add_option_function(
         "--shard",
         [&flags](const std::string& text) { flags.sharding = cli::sharding_of_flag(text); },
         "how the model will be divided: tp=N, pp=N or tp=N,pp=M")
      .required()
      .type_name("KIND=N");
  app.add_option("-o,--output", flags.folder,
                 "folder for the files, which is made if it is missing")
      .required()
      .type_name("DIR");
  app.add_option("--rank", flags.rank, "write only the file of this rank").type_name("N");
  cli::add_unknown_settings_flag(app, flags.allow_unknown_settings);
}

int split_for(int argc, char** argv) {
  cli::App app(
      "Writes a file for each rank of a model that is divided among machines: the metadata, and "
      "those parts of the weights that the rank needs. A machine then needs only its own file, "
      "which programs find in the folder that -m names.",
      "weft split-for");
  Flags flags;
  add_flags(app, flags);
  app.footer(
      "Each file appears under its name, rank-0-of-4.gguf, when it is complete.\n"
      "Examples:\n"
      "  weft split-for -m 70b.gguf --shard tp=2,pp=2 -o parts\n"
      "  weft split-for -m 70b.gguf --shard tp=2,pp=2 --rank 3 -o parts\n"
      "  mpirun --host a,b,c,d generate -m parts --shard tp=2,pp=2 -p 'Once'");
  if (const auto code = parse_flags(app, argc, argv)) return *code;
  check_flags(flags);
  return run(flags);
}

}  // namespace

const Subcommand kSplitFor{"split-for", "writes a file for each rank of a divided model",
                           split_for};

}  // namespace weft::tools
