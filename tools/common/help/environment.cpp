#include "common/help/environment.h"

namespace weft::cli {
namespace {

constexpr EnvironmentText kTexts[] = {
    {"WEFT_MODEL", "",
     "path of a GGUF file, the model of `generate`, `chat` and the subcommands of `weft` that "
     "run a model, if `-m` is not given. Default: the bundled one, in `share/weft/models` or "
     "`examples/models` of the nearest folder above the program that has one."},
    {"WEFT_BACKEND_PATH", "",
     "paths separated by colons, libraries and folders of libraries to load backends from "
     "([backends](backends.md)). Read once, when a backend is first looked up that is not "
     "built in."},
    {"WEFT_API_KEY", "weft serve",
     "keys of `weft serve`, separated by commas, if `--api-key` is not given."},
    {"NOTIFY_SOCKET, LISTEN_PID, LISTEN_FDS", "weft serve",
     "set by systemd for services; `weft serve` tells it when it is ready, and uses the socket"
     " that it passes."},
    {"WEFT_CPU_ISA", "",
     "the [instruction set](platforms.md#processors) that kernels of the cpu backend may use. "
     "Default: "
     "all that the machine has. Read once, when the backend is first used. An unknown name, or"
     " a set that the machine lacks, is an error."},
    {"WEFT_TUNE", "",
     "`off` ignores the values that `weft tune` stored for this machine, and does not measure "
     "them at the first run of a large model. They change the speed, never a result. Read "
     "once, when the backend is first used; any other value is an error."},
    {"WEFT_CHECK_PLANS", "",
     "`1` checks every plan when it is made, as debug builds do: tensors that live at the same"
     " time share no bytes, lanes read only completed data. The tests set it."},
    {"WEFT_POISON", "",
     "`1` runs plans on one thread and fills unused memory with NaN, between stages and in "
     "scratch memory before each kernel. A kernel that reads or writes such memory is an error"
     " that names its node. Results do not change."},
    {"WEFT_SHARD_ALL", "",
     "with `1`, `--shard` also divides projections that are too small to be worth it, so that "
     "tests with tiny models exchange as much as large ones."},
    {"WEFT_MPI_PATH", "",
     "folder of `weft-openmpi.so` and `weft-mpich.so`, or one of these libraries, if they are "
     "not beside the program ([ranks](distributed.md))."},
    {"XDG_CACHE_HOME", "",
     "folder in which `weft limits` and `weft profile` store the machine's limits "
     "(`weft/limits.json`), and `weft tune` the values that it measured (`weft/tuned-*.txt`, "
     "one file for each processor and instruction set). Default: `~/.cache`."},
    {"XDG_STATE_HOME", "chat",
     "folder in which `chat` stores the lines typed on a terminal (`weft/chat_history`). "
     "Default: `~/.local/state`."},
};

}  // namespace

std::span<const EnvironmentText> environment_texts() {
  return kTexts;
}

}  // namespace weft::cli
