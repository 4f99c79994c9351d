#pragma once
// The flags of `weft serve`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/http/access.h"
#include "weft/serve/engine.h"

#include "common/draft_flags.h"
#include "common/flags.h"
#include "common/template_flags.h"

namespace weft::server {

struct Flags {
  // models
  cli::ModelFlags model;
  bool model_given = false;
  std::vector<std::string> aliases;
  std::string models_dir, models_file;
  int models_max = 1;
  // COMMAND of --launch, which starts this program with `server_arguments`.
  std::string launch;
  std::vector<std::string> server_arguments;
  bool restart = false;
  bool one_model() const { return models_dir.empty() && models_file.empty(); }

  // the port
  std::string host = "127.0.0.1";  // or the path of a Unix socket
  int port = 8080;
  std::string api_prefix;
  std::vector<std::string> origins = http::default_origins(), allowed_hosts;
  std::vector<std::string> api_keys;
  std::string api_key_file;
  std::string certificate_file, key_file;
  std::int64_t max_body = std::int64_t{32} << 20;
  int timeout_seconds = 600;
  int shutdown_seconds = 30;
  int rate_limit = 0;  // requests per minute and client; 0: any number

  // work
  int slots = 4;
  bool slots_given = false;
  int max_queue = 64;
  std::string slot_folder;
  std::int64_t slot_quota = std::int64_t{16} << 30;  // bytes in it, of each key; 0: any number
  bool shares_cache = false;                         // keys share what is kept of prompts
  std::int64_t kept_prompts_mib = -1;
  std::string snapshot_folder;
  std::int64_t snapshots_mib = 8192;
  bool guards_memory = true;
  bool cache_prompt = true;
  TextRequest::Moved moved = {};  // ServedModel::moved
  bool prepares = false;          // ServedModel::prepares
  double prepare_share = 0.25;
  bool logs_differences = false;  // ApiOptions::on_difference
  bool warm_up = true;
  cli::DraftFlags drafts;

  // reports of the server about itself
  bool metrics = true, slots_endpoint = true, props_writable = false, page = true;
  std::string log_file;
  bool log_json = false;
  std::string record_folder, profile_folder;
  // The arguments for repeating requests: all but those for keys and for files that the server
  // writes.
  std::vector<std::string> repeat_arguments;

  // defaults of requests
  cli::SamplerFlags sampler;
  bool seed_given = false;
  std::int64_t max_tokens = -1;
  ContextEndOptions context_end = {};
  cli::TemplateFlags chat_template;
  std::string pooling;  // empty: as the file says
  std::string reasoning_format = "auto";
  int ping_seconds = 15;
};

// Returns an exit code if the program should end: 0 after --help, 2 for wrong usage. Throws
// UsageError, IoError and ValueError for files, folders and combinations that cannot work.
std::optional<int> parse(int argc, char** argv, Flags& flags);

// Throws IoError unless the files and folders of the flags exist. parse() calls it, except in one
// of several ranks: the other machines need not have them.
void check_files(const Flags& flags);

// The keys of --api-key or WEFT_API_KEY, and of --api-key-file. Throws IoError, and ValueError if
// there is a file but no key.
std::vector<std::string> read_keys(const Flags& flags);

}  // namespace weft::server
