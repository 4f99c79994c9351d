#include "common/tune_once.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>

#include <sys/wait.h>
#include <unistd.h>

#include "weft/backends/tunables.h"
#include "weft/base/folders.h"
#include "weft/scheduler/budget.h"
#include "weft/scheduler/workers.h"

#include "tune/tune.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

// Smaller models are fast anyway.
constexpr std::uintmax_t kLarge = std::uintmax_t{256} << 20;

// The size of a file, or of the files in a folder; 0 if it cannot be read.
std::uintmax_t bytes_at(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const std::uintmax_t n = fs::file_size(path, error);
    return error ? 0 : n;
  }
  std::uintmax_t n = 0;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    std::error_code of_file;
    const std::uintmax_t more = at->file_size(of_file);
    if (!of_file) n += more;
  }
  return n;
}

bool can_store(const fs::path& path) {
  if (path.empty()) return false;
  std::error_code error;
  make_private_folders(path.parent_path().string(), error);
  return ::access(path.parent_path().c_str(), W_OK) == 0;
}

void measure(const std::string& isa, int workers) {
  const auto measured =
      bench::measure_choices({.isa = isa,
                              .threads = workers == 0 ? default_workers() : workers,
                              .max_bytes = default_budget() / 4});
  bench::store_values(bench::best_values(measured), isa);
}

}  // namespace

void tune_once(const ModelFlags& flags) {
  const SessionOptions& options = flags.session;
  const char* wish = std::getenv("WEFT_TUNE");
  if ((wish && *wish != '\0') || options.weights == WeightMode::mapped ||
      options.weights == WeightMode::streamed || options.backend != "cpu" ||
      bytes_at(flags.path) < kLarge) {
    return;
  }
  const std::string isa(cpu_backend_isa());
  if (isa.empty() || cpu_tunables(isa).empty()) return;
  if (!stored_values(isa).all().empty() || !can_store(tuned_path(isa))) return;
  std::cerr << "measuring the fastest settings of this machine, once (WEFT_TUNE=off: never)\n";
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      measure(isa, options.workers);
    } catch (const std::exception&) {
      // The standard values remain.
    }
    ::_exit(0);
  }
  while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace weft::cli
