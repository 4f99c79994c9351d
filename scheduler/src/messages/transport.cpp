// Ranks that are processes: finds the library for the MPI that started them, and speaks to it.

#include <algorithm>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "weft/base/error.h"
#include "weft/base/library.h"
#include "weft/base/no_destructor.h"
#include "weft/scheduler/communicator.h"
#include "weft/scheduler/transport_abi.h"

namespace weft {
namespace {

constexpr int kMaxProcesses = 1 << 20;

struct Launcher {
  const char* size;    // the environment variable with the number of ranks
  const char* marker;  // is set, too; null: the first one is enough
  const char* library;
};
// In this order: a launcher of Open MPI that was itself started by Slurm passes Slurm's variables
// on.
constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_SIZE", nullptr, "weft-openmpi.so"},
    {"PMI_SIZE", nullptr, "weft-mpich.so"},                   // mpirun of MPICH, srun --mpi=pmi2
    {"SLURM_STEP_NUM_TASKS", "PMIX_RANK", "weft-openmpi.so"}  // srun --mpi=pmix
};

const Launcher* find_launcher() {
  for (const Launcher& launcher : kLaunchers) {
    if (std::getenv(launcher.size) && (!launcher.marker || std::getenv(launcher.marker)))
      return &launcher;
  }
  return nullptr;
}

namespace fs = std::filesystem;

// The folders that are searched: those that exist, and for messages also those that do not.
std::vector<fs::path> library_folders() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path above = program.parent_path();
  std::vector<fs::path> folders{program, above / "plugins", above / "lib/weft",
                                above / "lib64/weft"};
  // Debian's folder of libraries has the name of the processor.
  for (const auto& entry : fs::directory_iterator(above / "lib", error)) {
    const fs::path folder = entry.path() / "weft";
    if (fs::is_directory(folder, error)) folders.push_back(folder);
  }
  return folders;
}

std::string find_library(const char* name) {
  std::vector<fs::path> folders;
  std::error_code error;
  if (const char* given = std::getenv("WEFT_MPI_PATH"); given && *given) {
    if (fs::is_regular_file(given, error)) return fs::absolute(given).string();
    folders.emplace_back(given);
  }
  for (fs::path& folder : library_folders()) folders.push_back(std::move(folder));
  std::string searched;
  for (const fs::path& folder : folders) {
    if (fs::is_regular_file(folder / name, error)) return fs::absolute(folder / name).string();
    searched += fmt::format("{}{}", searched.empty() ? "" : ", ", folder.string());
  }
  fail<UnsupportedError>(
      "{}: not found in {}: run `tools/packages/install.sh mpi`, build Weft again, and set "
      "WEFT_MPI_PATH if the library is in another folder",
      name, searched);
}

// The plug-ins of Open MPI need its symbols, and do not say so.
Library load_mpi(const std::string& path) {
  try {
    return Library::load(path, Library::Symbols::global);
  } catch (const UnsupportedError& error) {
    fail<UnsupportedError>("{}; `tools/packages/install.sh mpi` installs what it needs",
                           error.what());
  }
}

const weft_transport& load_transport(const std::string& path) {
  const auto& table = load_table<weft_transport>(
      load_mpi(path), path,
      {WEFT_TRANSPORT_ENTRY, WEFT_TRANSPORT_VERSION, "a transport between ranks",
       "the ABI of transports", sizeof(weft_transport)});
  const std::string missing = missing_functions({{table.last_error, "last_error"},
                                                 {table.open, "open"},
                                                 {table.send, "send"},
                                                 {table.arrived, "arrived"},
                                                 {table.take, "take"},
                                                 {table.abandon, "abandon"},
                                                 {table.close, "close"}});
  if (!missing.empty()) fail<UnsupportedError>("{}: lacks {}", path, missing);
  return table;
}

std::uint32_t number_of(Channel channel) {
  return static_cast<std::uint32_t>(channel);
}

// Launchers end all ranks with SIGTERM if one is lost.
std::atomic<bool> is_ending{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_sigterm(int) {
  end_waits();
}

// Unless the program handles the signal itself.
void catch_end() {
  struct sigaction action {};
  if (sigaction(SIGTERM, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action.sa_handler = on_sigterm;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
}

class ProcessRank final : public Communicator {
 public:
  explicit ProcessRank(const std::string& path) : table_(load_transport(path)) {
    world_.struct_size = sizeof(world_);
    if (table_.open(&world_)) fail<UnsupportedError>("{}: {}", path, table_.last_error());
    world_.name[sizeof(world_.name) - 1] = 0;
    if (world_.size < 1 || world_.rank < 0 || world_.rank >= world_.size) {
      fail<UnsupportedError>("{}: this is rank {} of {}, which cannot be", path, world_.rank,
                             world_.size);
    }
  }

  int rank() const override { return world_.rank; }
  int size() const override { return world_.size; }
  std::string_view description() const override { return world_.name; }

  void send(int to, Channel channel, std::span<const std::byte> bytes) override {
    const std::lock_guard lock(mutex_);
    check_open(to);
    const auto n = static_cast<std::int64_t>(bytes.size());
    check(table_.send(to, number_of(channel), bytes.data(), n), to, "sending to it");
  }

  std::int64_t arrived(int from, Channel channel) override {
    std::int64_t n = kNotArrived;
    const std::lock_guard lock(mutex_);
    check_open(from);
    check(table_.arrived(from, number_of(channel), &n), from, "looking for its messages");
    if (n < 0 && is_ending)
      throw RankError(from,
                      fmt::format("rank {} was awaited when the launcher ended the run", from));
    return n;
  }

  void take(int from, Channel channel, std::span<std::byte> bytes) override {
    const std::lock_guard lock(mutex_);
    check_open(from);
    const auto n = static_cast<std::int64_t>(bytes.size());
    check(table_.take(from, number_of(channel), bytes.data(), n), from, "receiving its message");
  }

  void abandon(const std::string& why) noexcept override {
    const std::lock_guard lock(mutex_);
    if (is_open_) table_.abandon(why.c_str());
  }

  // Threads may still use the endpoint while the process ends.
  void close() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_open_, false)) table_.close();
  }

 private:
  void check_open(int peer) const {
    if (!is_open_) throw RankError(peer, fmt::format("rank {}: this process ends", peer));
  }

  void check(weft_transport_status status, int peer, std::string_view doing) const {
    if (status == WEFT_TRANSPORT_OK) return;
    const char* why = table_.last_error();
    if (status == WEFT_TRANSPORT_LOST)
      throw RankError(peer, fmt::format("rank {} is lost: {}", peer, why));
    throw RankError(peer, fmt::format("rank {}: {} failed: {}", peer, doing, why));
  }

  const weft_transport& table_;
  weft_transport_world world_{};
  std::mutex mutex_;  // abandon() comes from any thread
  bool is_open_ = true;
};

// Null until open_launched() made it; never destroyed, but closed when the process ends.
std::unique_ptr<ProcessRank>& launched_rank() {
  static NoDestructor<std::unique_ptr<ProcessRank>> rank;
  return *rank;
}

void open_launched() {
  const Launcher* launcher = find_launcher();
  if (!launcher) {
    fail<UnsupportedError>(
        "this program was started alone: expected one of {}, {} or {}, which mpirun and srun set",
        kLaunchers[0].size, kLaunchers[1].size, kLaunchers[2].size);
  }
  launched_rank() = std::make_unique<ProcessRank>(find_library(launcher->library));
  catch_end();
  // Registered now, so that it is called before what the library registered.
  std::atexit([] { launched_rank()->close(); });
}

}  // namespace

int launched_ranks() {
  const Launcher* launcher = find_launcher();
  if (!launcher) return 1;
  const std::string_view text = std::getenv(launcher->size);
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < 1 || n > kMaxProcesses) {
    fail<ValueError>("{}: expected a number of ranks from 1 to {}, got '{}'", launcher->size,
                     kMaxProcesses, text);
  }
  return n;
}

Communicator& launched_communicator() {
  static std::once_flag opened;
  std::call_once(opened, open_launched);
  return *launched_rank();
}

void end_waits() noexcept {
  is_ending = true;
}

}  // namespace weft
