#include "weft/program/flags.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "weft/api/context.h"
#include "weft/base/error.h"
#include "weft/files/pooling.h"
#include "weft/http/access.h"
#include "weft/scheduler/budget.h"
#include "weft/scheduler/communicator.h"

#include "common/app.h"
#include "common/knob_flags.h"
#include "common/program.h"
#include "rank_flags.h"

namespace weft::server {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  weft serve                                   # the bundled model on http://127.0.0.1:8080\n"
    "  weft serve -m model.gguf -np 8 -c 65536      # 8 requests at a time, 8192 tokens each\n"
    "  weft serve -m model.gguf --alias gpt-4o,local --api-key-file keys.txt --host 0.0.0.0 \\\n"
    "      --ssl-cert-file cert.pem --ssl-key-file key.pem\n"
    "  weft serve --models-dir ~/models --models-max 2 --mem-budget 12G\n"
    "  weft serve --host /run/weft/weft.sock        # a Unix socket\n"
    "  weft serve -m big.gguf --shard tp=2 --launch \"mpirun -n 2 --host a,b\" --restart\n"
    "                                               # on two machines\n"
    "  curl http://127.0.0.1:8080/v1/chat/completions \\\n"
    "      -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Tell me a story.\"}]}'\n"
    "Signals: SIGTERM finishes running requests and ends, a second one ends at once; SIGHUP reads\n"
    "the file of keys again. docs/server.md describes the interfaces. Flags of llama-server that\n"
    "only place or hasten work are accepted, without effect.";

cli::Option add_list(cli::App& app, const char* names, std::vector<std::string>& list,
                     const char* what, const char* type) {
  return app
      .add_option_function(names,
                           cli::App::Function<std::vector<std::string>>(
                               [&list](const std::vector<std::string>& texts) {
                                 list.clear();
                                 for (const std::string& text : texts)
                                   for (std::string& part : http::split_list(text))
                                     list.push_back(std::move(part));
                               }),
                           what)
      .take_all()
      .allow_extra_args(false)
      .type_name(type);
}

cli::Option add_number(cli::App& app, const char* names, int& value, int min, const char* what) {
  return app.add_option(names, value, what)
      .range(min, std::numeric_limits<int>::max())
      .capture_default_str()
      .type_name("N");
}

void add_size(cli::App& app, const char* name, std::int64_t& value, const char* what) {
  app.add_option_function(name,
                          cli::App::Function<std::string>([name, &value](const std::string& text) {
                            try {
                              value = parse_size(text);
                            } catch (const ValueError& error) {
                              cli::reject_value(name, error.what());
                            }
                          }),
                          what)
      .type_name("SIZE");
}

void add_model_choice(cli::App& app, Flags& flags) {
  add_list(app, "-a,--alias", flags.aliases,
           "names by which clients call the model; the first is listed (default: the file's stem)",
           "NAME,...");
  app.add_option("--models-dir", flags.models_dir,
                 "several models: every GGUF file below this folder, by its stem; loaded when "
                 "first requested")
      .type_name("DIR");
  app.add_option(
         "--models-file", flags.models_file,
         "several models: a list with names and settings, JSON or (*.toml) TOML (docs/server.md)")
      .type_name("FILE");
  add_number(app, "--models-max", flags.models_max, 0,
             "max loaded models; the one idle longest is unloaded. 0: all that the budget holds");
}

void add_access_flags(cli::App& app, Flags& flags) {
  add_list(app, "--api-key", flags.api_keys,
           "keys that clients must send; also WEFT_API_KEY, if the flag is absent", "KEY,...");
  app.add_option("--api-key-file", flags.api_key_file,
                 "keys, one per line; lines with # first are comments. SIGHUP reads it again")
      .type_name("FILE");
  add_list(
      app, "--cors-origins", flags.origins,
      "origins of pages that may use the server: a list; localhost: any port of this machine; "
      "app://*: all of a scheme; *: all (default: localhost, and desktop programs and editors)",
      "LIST");
  add_list(app, "--allowed-hosts", flags.allowed_hosts,
           "values of Host that are answered (default: names of this machine while the address is "
           "a loopback one)",
           "LIST");
}

void add_port_flags(cli::App& app, Flags& flags) {
  app.add_option("--host", flags.host,
                 "address to listen on; a path that ends in .sock is a Unix socket")
      .capture_default_str()
      .type_name("ADDR");
  app.add_option("--port", flags.port, "port; 0: a free one, which stderr names")
      .range(0, 65535)
      .capture_default_str()
      .type_name("N");
  app.add_option("--api-prefix", flags.api_prefix, "all paths are below this one").type_name("P");
  add_access_flags(app, flags);
  add_number(app, "--rate-limit", flags.rate_limit, 0,
             "max POST requests per minute of a key, or of an address without keys; more are "
             "answered with 429. 0: any number");
  app.add_option("--ssl-cert-file", flags.certificate_file, "certificate chain (PEM), for HTTPS")
      .type_name("FILE");
  app.add_option("--ssl-key-file", flags.key_file, "its private key (PEM)").type_name("FILE");
  add_size(app, "--max-body-size", flags.max_body,
           "max size of a request's body, unpacked (default: 32M)");
}

void add_moved_flags(cli::App& app, Flags& flags) {
  app.add_option(
         "--cache-reuse", flags.moved.min_tokens,
         "parts of at least N tokens of a prompt may be taken from other positions, which "
         "is not exact, and faster in large models; 0 (default): none. Requests have n_cache_reuse")
      .range(std::int64_t{0}, std::int64_t{1} << 30)
      .type_name("N");
  app.add_option("--cache-reuse-share", flags.moved.repeated_share,
                 "which of their tokens are computed again, those that change most (default: "
                 "0.15)")
      .real_range(0, 1)
      .type_name("F");
}

void add_snapshot_flags(cli::App& app, Flags& flags) {
  app.add_option(
         "--cache-dir", flags.snapshot_folder,
         "folder of snapshots: texts that ended are kept there, over restarts, and continued "
         "from there; may be shared by models and servers; made if it is missing")
      .type_name("DIR");
  app.add_option(
         "--cache-disk", flags.snapshots_mib,
         "MiB for all files in --cache-dir; those used longest ago make room (default: 8192)")
      .range(1, std::int64_t{1} << 40)
      .type_name("N");
  app.add_flag("--memory-guard,!--no-memory-guard", flags.guards_memory,
               "give up memory while the control group or the machine is short of it: texts that "
               "ended, then wide steps for prompts, then new requests (default: yes)");
}

void add_cache_flags(cli::App& app, Flags& flags) {
  app.add_option_function(
         "--cache-scope", cli::App::Function<std::string>([&flags](const std::string& scope) {
           flags.shares_cache = scope == "server";
         }),
         "who shares kept prompts, saved slots and stored responses: key (default): requests with "
         "the same key; server: all. A request's cache_salt narrows both")
      .one_of({"key", "server"})
      .type_name("SCOPE");
  app.add_option("--cache-ram", flags.kept_prompts_mib,
                 "MiB for prompts kept beside the slots; 0: none; -1 (default): a share of the "
                 "budget")
      .range(std::int64_t{-1}, std::int64_t{1} << 40)
      .type_name("N");
  app.add_option("--checkpoint-every", flags.model.session.checkpoint_every,
                 "tokens between the states of recurrent layers that are kept so that other texts "
                 "can branch there (default: 256)")
      .range(1, std::int64_t{1} << 30)
      .type_name("N");
  app.add_flag("--cache-prompt,!--no-cache-prompt", flags.cache_prompt,
               "requests may reuse computed prompts unless they say otherwise (default: yes)");
  add_moved_flags(app, flags);
  app.add_option_function(
         "--prepare", cli::App::Function<std::string>([&flags](const std::string& when) {
           flags.prepares = when == "idle";
         }),
         "idle: when an answer ends and nobody waits, compute what the next turn of the chat will "
         "begin with, as the template writes it; off (default): do not")
      .one_of({"off", "idle"})
      .type_name("WHEN");
  app.add_option("--prepare-share", flags.prepare_share,
                 "what --prepare idle may take of the time that the model computes (default: 0.25)")
      .real_range(0, 1)
      .type_name("F");
  app.add_flag("--log-prompts-diff", flags.logs_differences,
               "log where a prompt differs from the text in memory that is most like it");
}

void add_work_flags(cli::App& app, Flags& flags) {
  app.add_option("--parallel", flags.slots,
                 "-np; requests that are computed at a time (default: 4, fewer if the memory "
                 "budget requires it)")
      .range(1, 1024)
      .type_name("N");
  add_number(app, "--max-queue", flags.max_queue, 0,
             "max requests that wait for a slot; more are answered with 429. 0: none waits");
  add_number(app, "--timeout", flags.timeout_seconds, 1,
             "-to; seconds that a connection, a body or a reader may be silent; a header has at "
             "most 30");
  add_number(app, "--shutdown-timeout", flags.shutdown_seconds, 0,
             "seconds that running requests have after SIGTERM");
  app.add_option("--slot-save-path", flags.slot_folder, "folder of saved slots").type_name("DIR");
  add_size(app, "--slot-save-quota", flags.slot_quota,
           "bytes of saved slots of each key, from which on it saves no more; 0: any number "
           "(default: 16G)");
  app.add_flag("--warmup,!--no-warmup", flags.warm_up,
               "compute two short steps when a model is loaded, for which the first request would "
               "have to wait (default: yes)");
}

void add_operation_flags(cli::App& app, Flags& flags) {
  app.add_flag("--metrics,!--no-metrics", flags.metrics, "answer /metrics (default: yes)");
  app.add_flag("--slots,!--no-slots", flags.slots_endpoint, "answer /slots (default: yes)");
  app.add_flag("--props,!--no-props", flags.props_writable, "allow POST /props (default: no)");
  app.add_flag("--webui,!--no-webui", flags.page, "serve a page for chats at / (default: yes)");
  app.add_option("--log-file", flags.log_file, "append the log to a file instead of stderr")
      .type_name("FILE");
  app.add_flag("--log-jsonl", flags.log_json, "log lines are JSON objects");
  app.add_option("--record-requests", flags.record_folder,
                 "write records of requests, for `weft repeat`, into this folder")
      .type_name("DIR");
  app.add_option("--profile-requests", flags.profile_folder,
                 "write the profile of each request with the header X-Weft-Profile: 1 into this "
                 "folder")
      .type_name("DIR");
}

void add_request_defaults(cli::App& app, Flags& flags) {
  cli::add_length_flag(app, flags.max_tokens, "; for requests that do not say it");
  cli::add_template_flags(app, flags.chat_template);
  app.add_option(
         "--pooling", flags.pooling,
         "how embeddings are pooled (default: as the file says, else mean): " + pooling_help())
      .one_of(pooling_names())
      .type_name("NAME");
  app.add_option("--reasoning-format", flags.reasoning_format,
                 cli::help_text({.name = "reasoning_format", .doc = api::kReasoningDoc}))
      .one_of(api::reasoning_names())
      .capture_default_str()
      .type_name("NAME");
  app.add_option("--sse-ping-interval", flags.ping_seconds,
                 "seconds of silence in a stream after which a comment is sent; -1: never")
      .range(-1, 1 << 20)
      .capture_default_str()
      .type_name("N");
  cli::add_context_flags(app, flags.context_end);
  cli::add_sampler_flags(app, flags.sampler);
}

void check_file(const char* flag, const std::string& path) {
  if (path.empty()) return;
  if (!std::ifstream(path)) fail<IoError>("{}: cannot read {}", flag, path);
}

void check_folder(const char* flag, const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  if (!std::filesystem::is_directory(path, error))
    fail<IoError>("{}: {} is not a folder", flag, path);
}

void check(const Flags& flags) {
  if (flags.certificate_file.empty() != flags.key_file.empty()) {
    fail<cli::UsageError>("{} needs {}, too",
                          flags.key_file.empty() ? "--ssl-cert-file" : "--ssl-key-file",
                          flags.key_file.empty() ? "--ssl-key-file" : "--ssl-cert-file");
  }
  if (flags.one_model()) {
    if (flags.model.path.empty()) fail<cli::UsageError>("--model is required");
    return;
  }
  const char* const several = flags.models_dir.empty() ? "--models-file" : "--models-dir";
  if (!flags.models_dir.empty() && !flags.models_file.empty())
    fail<cli::UsageError>("--models-dir excludes --models-file");
  if (flags.model_given) fail<cli::UsageError>("{} excludes --model", several);
  if (!flags.aliases.empty()) fail<cli::UsageError>("{} excludes --alias", several);
  if (!flags.drafts.file.empty()) fail<cli::UsageError>("{} excludes --model-draft", several);
}

// Without keys, and without files that a repetition must not write.
std::vector<std::string> for_repetition(const std::vector<std::string>& arguments) {
  static constexpr std::string_view kOmitted[] = {
      "--api-key",         "--api-key-file",     "--slot-save-path", "--log-file",
      "--record-requests", "--profile-requests", "--models-dir",     "--models-file",
      "--ssl-cert-file",   "--ssl-key-file",     "--cache-dir",      "--cache-disk"};
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view name = std::string_view(arguments[i]).substr(0, arguments[i].find('='));
    if (std::ranges::find(kOmitted, name) == std::end(kOmitted))
      kept.push_back(arguments[i]);
    else if (name == arguments[i])
      ++i;  // its value
  }
  return kept;
}

// Keys must not be visible in lists of processes.
void hide_keys(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view text = argv[i];
    char* value = nullptr;
    if (text.starts_with("--api-key=")) value = argv[i] + std::string_view("--api-key=").size();
    if (text == "--api-key" && i + 1 < argc) value = argv[i + 1];
    for (; value && *value; ++value) *value = '*';
  }
}

// An empty key, as an unset shell variable gives, must not open the server to everybody.
void read_key_flags(bool given, Flags& flags) {
  const char* key = std::getenv("WEFT_API_KEY");
  if (!given && key) flags.api_keys = http::split_list(key);
  if (!flags.api_keys.empty() || !flags.api_key_file.empty()) return;
  const char* const empty = given ? "--api-key" : key ? "WEFT_API_KEY" : nullptr;
  if (empty)
    fail<cli::UsageError>(
        "{} has no key (an unset shell variable?); leave it out for a server without keys", empty);
}

}  // namespace

void check_files(const Flags& flags) {
  check_file("--ssl-cert-file", flags.certificate_file);
  check_file("--ssl-key-file", flags.key_file);
  check_file("--api-key-file", flags.api_key_file);
  check_file("--chat-template-file", flags.chat_template.file);
  check_folder("--slot-save-path", flags.slot_folder);
  if (!flags.snapshot_folder.empty() && std::filesystem::exists(flags.snapshot_folder))
    check_folder("--cache-dir", flags.snapshot_folder);
  check_folder("--record-requests", flags.record_folder);
  check_folder("--profile-requests", flags.profile_folder);
  check_folder("--models-dir", flags.models_dir);
  check_file("--models-file", flags.models_file);
}

std::optional<int> parse(int argc, char** argv, Flags& flags) {
  cli::App app(
      "Answers HTTP requests with texts, chats and embeddings of models: the interfaces of "
      "OpenAI,\n"
      "Anthropic, Ollama and llama-server.",
      "weft serve");
  cli::add_model_flags(app, flags.model);
  cli::add_expert_usage_flag(app, flags.model);
  app.get_option("--model").required(false);  // --models-dir and --models-file replace it
  add_model_choice(app, flags);
  add_rank_flags(app, flags);
  add_port_flags(app, flags);
  add_work_flags(app, flags);
  add_cache_flags(app, flags);
  add_snapshot_flags(app, flags);
  cli::add_draft_flags(app, flags.drafts);
  add_operation_flags(app, flags);
  add_request_defaults(app, flags);
  app.footer(kExamples);
  const std::uint64_t random_seed = flags.sampler.seed;
  flags.server_arguments = without_launch(cli::own_arguments(app, argc, argv));
  flags.repeat_arguments = for_repetition(flags.server_arguments);
  if (const auto code = parse_flags(app, argc, argv)) return code;
  cli::complete(flags.drafts, flags.model);
  hide_keys(argc, argv);
  flags.model_given = app.get_option("--model").given();
  flags.slots_given = app.get_option("--parallel").given();
  flags.seed_given = flags.sampler.seed != random_seed;
  read_key_flags(app.get_option("--api-key").given(), flags);
  check_rank_flags(flags, app.get_option("--api-key").given());
  check(flags);
  if (launched_ranks() == 1) check_files(flags);
  return std::nullopt;
}

std::vector<std::string> read_keys(const Flags& flags) {
  std::vector<std::string> keys = flags.api_keys;
  if (flags.api_key_file.empty()) return keys;
  const auto name_flag = [](std::string_view message) {
    return fmt::format("--api-key-file: {}", message);
  };
  for (std::string& key :
       reword_errors<IoError>(name_flag, [&] { return http::read_key_file(flags.api_key_file); }))
    keys.push_back(std::move(key));
  if (keys.empty()) fail<ValueError>("--api-key-file: no keys in {}", flags.api_key_file);
  return keys;
}

}  // namespace weft::server
