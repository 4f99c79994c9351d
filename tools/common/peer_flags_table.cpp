// Names and meanings: https://github.com/ggml-org/llama.cpp/blob/master/common/arg.cpp,
// https://github.com/ikawrakow/ik_llama.cpp/blob/main/common/common.cpp
#include "common/peer_flags.h"

namespace weft::cli {
namespace {

using enum PeerFlagKind;

constexpr std::string_view kNoDevices = "layers and caches are in the memory of the processor";
constexpr std::string_view kPlacement = "the system places threads; -t is their number";
constexpr std::string_view kKernels = "the fastest kernels and layouts are always used";
constexpr std::string_view kNoDownloads =
    "nothing is downloaded; -m FILE reads a model (docs/get_a_model.md)";
constexpr std::string_view kLogs = "what goes to stderr does not depend on it";
constexpr std::string_view kPages = "--weights and --mem-budget say where weights are";
constexpr std::string_view kCheckpoints = "--cache-ram limits the prompts that are kept";
constexpr std::string_view kDrafts = "a draft model uses the settings of the model";
constexpr std::string_view kNoPictures = "there are no pictures without --mmproj";

constexpr PeerFlag kFlags[] = {
    // Names of flags of the programs. The first name that the program has counts.
    {"-np", renamed, 1, "--parallel"},
    {"-to", renamed, 1, "--timeout"},
    {"-cram", renamed, 1, "--cache-ram"},
    {"-ctk", renamed, 1, "--cache-type-k"},
    {"-ctv", renamed, 1, "--cache-type-v"},
    {"-md", renamed, 1, "--model-draft"},
    {"-jf", renamed, 1, "--json-schema-file"},
    {"-okv", renamed, 1, "--override-kv"},
    {"-sys,--system-prompt", renamed, 1, "--system"},
    {"-cnv", renamed, 0, "--conversation"},
    {"-l", renamed, 1, "--logit-bias"},
    {"--no-mmap", renamed, 0, "--weights resident"},
    // So anyway.
    {"-cnv,--conversation", given, 0, "it is a chat", "chat"},
    {"-i,--interactive", given, 0, "it is a chat", "chat"},
    {"-if,--interactive-first", given, 0, "it is a chat", "chat"},
    {"-no-cnv,--no-conversation", given, 0, "a text is continued", "generate"},
    {"--no-display-prompt", given, 0, "replies do not repeat the message", "chat"},
    {"-mli,--multiline-input", given, 0, "what is pasted may have several lines", "chat"},
    {"--embeddings,--embedding", given, 0, "every model gives embeddings", "weft serve"},
    {"--jinja", given, 0, "templates are always Jinja"},
    {"-cb,--cont-batching", given, 0, "requests are always computed together"},
    {"-fa,--flash-attn", given, kSwitch, "attention never stores scores"},
    {"-ngl,--gpu-layers,--n-gpu-layers", given, 1, kNoDevices},
    {"-ub,--ubatch-size", given, 1, "-b alone says how wide steps are"},
    {"--no-context-shift", given, 0, "texts end when the context is full"},
    {"--keep", given, 1, "contexts are not shifted"},
    {"--mmap", given, 0, "weights are used from the file, or in a faster layout if there is room"},
    {"--warmup,--no-warmup", given, 0, "weft serve computes steps ahead"},
    {"--offline", given, 0, "nothing is downloaded"},
    {"--perf,--no-perf,--show-timings,--no-show-timings", given, 0, kLogs},
    {"--log-prefix,--log-timestamps", given, 0, kLogs},
    {"--log-colors", given, kSwitch, kLogs},
    {"-co,--color", given, kSwitch, kLogs},
    {"--no-color,--simple-io", given, 0, kLogs},
    {"--no-escape", given, 0, "escapes are text without -e"},
    {"--no-mmproj,--no-mmproj-auto", given, 0, kNoPictures},
    {"--mmproj-offload,--no-mmproj-offload", given, 0, kNoDevices},
    {"--no-host,--repack", given, 0, kKernels},
    {"-fmoe,--fused-moe", given, 0, kKernels},
    {"-gr,--graph-reuse", given, 0, kKernels},
    {"-dt,--defrag-thold", given, 1, "caches are not fragmented"},
    {"-tgs,--no-cache-idle-slots", given, 0, kCheckpoints},
    // Where work is done.
    {"-sm,--split-mode", ignored, 1, kNoDevices},
    {"-mg,--main-gpu", ignored, 1, kNoDevices},
    {"-ts,--tensor-split", ignored, 1, kNoDevices},
    {"-dev,--device", ignored, 1, kNoDevices},
    {"-devd,--device-draft", ignored, 1, kNoDevices},
    {"-ngld,--gpu-layers-draft,--n-gpu-layers-draft", ignored, 1, kNoDevices},
    {"-ot,--override-tensor", ignored, 1, kNoDevices},
    {"-otd,--override-tensor-draft", ignored, 1, kNoDevices},
    {"-cmoe,--cpu-moe", ignored, 0, kNoDevices},
    {"-ncmoe,--n-cpu-moe", ignored, 1, kNoDevices},
    {"-cmoed,--cpu-moe-draft", ignored, 0, kNoDevices},
    {"-ncmoed,--n-cpu-moe-draft", ignored, 1, kNoDevices},
    {"-kvo,--kv-offload", ignored, 0, kNoDevices},
    {"-nkvo,--no-kv-offload", ignored, 0, kNoDevices},
    {"--op-offload,--no-op-offload", ignored, 0, kNoDevices},
    {"-bs,--backend-sampling", ignored, 0, kNoDevices},
    {"-fit,--fit", ignored, kSwitch, kPages},
    {"-fitt,--fit-target", ignored, 1, kPages},
    {"-fitc,--fit-ctx", ignored, 1, kPages},
    {"-op,--offload-policy", ignored, 1, kNoDevices},
    {"-no-ooae,--no-offload-only-active-experts", ignored, 0, kNoDevices},
    {"-smgs,--split-mode-graph-scheduling", ignored, 0, kNoDevices},
    {"-sas,--scheduler-async", ignored, 0, kNoDevices},
    {"--max-gpu", ignored, 1, kNoDevices},
    // Threads.
    {"-tb,--threads-batch", ignored, 1, "-t is the number of threads of all steps"},
    {"-td,--threads-draft", ignored, 1, kDrafts},
    {"-tbd,--threads-batch-draft", ignored, 1, kDrafts},
    {"--threads-http", ignored, 1, "connections share one thread"},
    {"--numa", ignored, 1, kPlacement},
    {"--poll,--poll-batch,--poll-draft,--poll-batch-draft", ignored, 1, kPlacement},
    {"--prio,--prio-batch,--prio-draft,--prio-batch-draft", ignored, 1, kPlacement},
    {"-C,--cpu-mask", ignored, 1, kPlacement},
    {"-Cr,--cpu-range", ignored, 1, kPlacement},
    {"-Cb,--cpu-mask-batch", ignored, 1, kPlacement},
    {"-Crb,--cpu-range-batch", ignored, 1, kPlacement},
    {"-Cd,--cpu-mask-draft", ignored, 1, kPlacement},
    {"-Crd,--cpu-range-draft", ignored, 1, kPlacement},
    {"--cpu-strict,--cpu-strict-batch,--cpu-strict-draft", ignored, 1, kPlacement},
    // Weights and kernels.
    {"--no-mmap", ignored, 0, kPages},
    {"--mlock", ignored, 0, kPages},
    {"-dio,--direct-io,-ndio,--no-direct-io", ignored, 0, kPages},
    {"-thp,--transparent-huge-pages", ignored, 0, kPages},
    {"-nr,--no-repack", ignored, 0, kPages},
    {"-rtr,--run-time-repack", ignored, 0, kKernels},
    {"-nocb,--no-cont-batching", ignored, 0, "requests are always computed together"},
    {"-no-fa,--no-flash-attn", ignored, 0, "attention never stores scores"},
    {"-no-fmoe,--no-fused-moe,-no-fug,--no-fused-up-gate", ignored, 0, kKernels},
    {"-no-mmad,--no-fused-mul-multiadd,-no-gr,--no-graph-reuse", ignored, 0, kKernels},
    {"-mla,--mla-use", ignored, 1, kKernels},
    {"-amb,--attention-max-batch", ignored, 1, kKernels},
    {"-mqkv,--merge-qkv,-muge,--merge-up-gate-experts", ignored, 0, kKernels},
    {"-rcache,--rope-cache", ignored, 0, kKernels},
    // Caches and drafts: the text is the same.
    {"--cache-reuse", ignored, 1, "a prompt reuses its longest computed beginning"},
    {"--swa-full", ignored, 0, "caches hold what attention can reach"},
    {"-kvu,--kv-unified,-no-kvu,--no-kv-unified", ignored, 0, "--cache-cells shares a cache"},
    {"-ctxcp,--ctx-checkpoints,--swa-checkpoints", ignored, 1, kCheckpoints},
    {"-cpent,--checkpoint-every-n-tokens", ignored, 1, kCheckpoints},
    {"-crs,--cache-ram-similarity", ignored, 1, kCheckpoints},
    {"-cram-n-min,--cache-ram-n-min", ignored, 1, kCheckpoints},
    {"--cache-idle-slots", ignored, 0, kCheckpoints},
    {"-sps,--slot-prompt-similarity", ignored, 1, "a request gets the slot that shares most"},
    {"--draft-min,--draft-n-min,--spec-draft-n-min", ignored, 1, "measured times decide"},
    {"--draft-p-split,-ps,--p-split", ignored, 1, "measured times decide"},
    {"-cd,--ctx-size-draft", ignored, 1, kDrafts},
    {"-ctkd,--cache-type-k-draft", ignored, 1, kDrafts},
    {"-ctvd,--cache-type-v-draft", ignored, 1, kDrafts},
    {"-lcs,--lookup-cache-static", ignored, 1, "--spec-type says who guesses tokens"},
    {"-lcd,--lookup-cache-dynamic", ignored, 1, "--spec-type says who guesses tokens"},
    // Messages.
    {"-v,--verbose,--log-verbose,--log-disable", ignored, 0, kLogs},
    {"-lv,--verbosity,--log-verbosity", ignored, 1, kLogs},
    {"-ptc,--print-token-count", ignored, 1, kLogs},
    // Other texts, or other work.
    {"--context-shift", refused, 0, "texts end when the context is full"},
    {"--no-jinja", refused, 0, "templates are always Jinja"},
    {"-no-cnv,--no-conversation", refused, 0, "generate continues texts", "chat"},
    {"-i,--interactive,-if,--interactive-first", refused, 0, "the program chat is interactive"},
    {"-st,--single-turn", refused, 0, "generate --conversation gives one reply"},
    {"-sysf,--system-prompt-file", refused, 1, "--system TEXT sets the system prompt"},
    {"-bf,--binary-file", refused, 1, "-f FILE reads a prompt"},
    {"-r,--reverse-prompt", refused, 1, "--stop TEXT ends a text"},
    {"-sp,--special", refused, 0, "control tokens are not printed"},
    {"-ser,--smart-expert-reduction", refused, 1, "all chosen experts are computed"},
    {"-khad,--k-cache-hadamard,-vhad,--v-cache-hadamard", refused, 0, "--cache-type-k stores keys"},
    {"-gan,--grp-attn-n,-gaw,--grp-attn-w", refused, 1, "contexts are not extended by groups"},
    {"-rea,--reasoning", refused, 1, "--template-kwargs sets enable_thinking"},
    {"-hf,-hfr,--hf-repo,-hff,--hf-file,-hft,--hf-token", refused, 1, kNoDownloads},
    {"-hfd,-hfrd,--hf-repo-draft,-hfv,-hfrv,--hf-repo-v", refused, 1, kNoDownloads},
    {"-mu,--model-url,-mmu,--mmproj-url,-dr,--docker-repo", refused, 1, kNoDownloads},
    {"--rpc", refused, 1, "--shard divides a model over machines (docs/distributed.md)"},
    {"--list-devices", refused, 0, "weft backends lists backends"},
    {"--check-tensors,-vq,--validate-quants", refused, 0, "weft verify checks a model"},
};

}  // namespace

std::span<const PeerFlag> peer_flags() {
  return kFlags;
}

}  // namespace weft::cli
