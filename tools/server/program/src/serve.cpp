#include "weft/program/serve.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/api/endpoints.h"
#include "weft/api/errors.h"
#include "weft/api/text_run.h"
#include "weft/api/workers.h"
#include "weft/base/error.h"
#include "weft/hosting/model_files.h"
#include "weft/hosting/model_pool.h"
#include "weft/hosting/models_file.h"
#include "weft/hosting/operations.h"
#include "weft/hosting/server_metrics.h"
#include "weft/http/access.h"
#include "weft/http/server.h"
#include "weft/page/page.h"
#include "weft/scheduler/budget.h"

#include "access_log.h"
#include "common/tune_once.h"
#include "interfaces.h"
#include "load_model.h"
#include "rate_limit.h"
#include "request_log.h"
#include "request_profiles.h"
#include "request_record.h"
#include "signals.h"
#include "systemd.h"

namespace weft::server {
namespace {

constexpr std::chrono::milliseconds kDrainStep{20};
// For texts to end after their clients were disconnected.
constexpr std::chrono::seconds kCancelTime{2};
constexpr int kAnswersCut = 1;

// A path from --host, or a socket that was inherited.
bool is_unix(const std::string& host) {
  return host == http::kUnixAddress || host.ends_with(".sock");
}

class ServeProgram {
 public:
  ServeProgram(Flags flags, const ProgramParts& parts);
  ~ServeProgram();
  int run();

 private:
  PoolOptions pool_options();
  http::ServerOptions http_options() const;
  http::AccessOptions access_options() const;
  std::vector<std::string> hosts() const;
  bool is_local() const;
  http::Hooks hooks();
  std::optional<http::Reply> gate(const http::RequestHead& head);
  std::vector<api::Endpoint> endpoints();
  void answer(std::shared_ptr<http::Exchange> exchange);
  void loaded(const HostedModel& source, const std::exception_ptr& error);
  std::unique_ptr<RequestRecorder> make_recorder();
  api::ApiOptions api_options();
  void warn_if_open();
  void reload_keys();
  bool drain();
  void stop_requests();

  Flags flags_;
  const std::vector<int> sockets_ = http::inherited_sockets();  // to listen on; usually none
  Signals signals_;                                             // before all threads
  Log log_;
  const ProgramParts parts_;
  std::mutex notices_mutex_;
  std::set<std::string> notices_;  // logged notices
  std::atomic<bool> draining_{false}, stopping_{false};
  std::exception_ptr load_error_;  // set before signals_ is woken
  ServerMetrics metrics_;
  // The only model, opened before the port, until the pool's thread takes it.
  std::shared_ptr<const Model> first_;
  bool has_loaded_ = false;  // on the pool's thread
  std::unique_ptr<api::Router> router_;
  std::unique_ptr<RequestRecorder> recorder_;
  std::unique_ptr<RequestProfiles> profiles_;
  std::unique_ptr<RequestLog> requests_;
  std::unique_ptr<Operations> operations_;
  std::unique_ptr<api::Services> services_;
  std::unique_ptr<api::Workers> workers_;
  std::unique_ptr<ModelPool> pool_;  // its engines call the members above
  std::unique_ptr<http::Access> access_;
  std::optional<RateLimit> rate_limit_;  // used on the I/O thread
  std::unique_ptr<http::Server> http_;
  std::thread io_;
};

std::vector<std::string> paths_of(const std::vector<api::Endpoint>& endpoints) {
  std::vector<std::string> paths{"/openapi.json"};
  for (const api::Endpoint& endpoint : endpoints) {
    paths.push_back(endpoint.path);
    paths.insert(paths.end(), endpoint.aliases.begin(), endpoint.aliases.end());
  }
  return paths;
}

Flags with_settings(Flags flags, const HostedModel& source) {
  if (source.context) flags.model.session.context = *source.context;
  if (source.slots) flags.slots = *source.slots;
  if (source.slots) flags.slots_given = true;
  return flags;
}

std::vector<HostedModel> sources_of(const Flags& flags) {
  if (!flags.models_dir.empty()) return models_below(flags.models_dir);
  if (!flags.models_file.empty()) return models_in_file(flags.models_file);
  std::vector<std::string> names = flags.aliases;
  if (names.empty()) names.push_back(stem_of(flags.model.path));
  return {{flags.model.path, std::move(names)}};
}

ServeProgram::ServeProgram(Flags flags, const ProgramParts& parts)
    : flags_(std::move(flags)), log_(flags_.log_file, flags_.log_json), parts_(parts) {
  const auto warn = [this](std::string_view text) { log_.message("warning", text); };
  if (flags_.one_model()) first_ = open_model(flags_, flags_.model.path, warn);
  // Listens before the weights are loaded, so that clients learn that they have to wait.
  if (flags_.rate_limit > 0) rate_limit_.emplace(flags_.rate_limit);
  access_ = std::make_unique<http::Access>(access_options(), api::refusal_reply);
  http_ = std::make_unique<http::Server>(http_options(), hooks());
  workers_ = std::make_unique<api::Workers>();
  pool_ = std::make_unique<ModelPool>(pool_options());
  operations_ = std::make_unique<Operations>(
      Operations{*pool_, metrics_, draining_, flags_.model.session.mem_budget,
                 flags_.model.session.workers, flags_.metrics});
  if (operations_->memory_budget == 0) operations_->memory_budget = default_budget();
  if (!flags_.record_folder.empty()) recorder_ = make_recorder();
  if (!flags_.profile_folder.empty()) {
    profiles_ = std::make_unique<RequestProfiles>(flags_.profile_folder, parts_.make_profile, log_);
  }
  services_ = std::make_unique<api::Services>(api::Services{*pool_, *workers_, api_options()});
  std::vector<api::Endpoint> all = endpoints();
  requests_ = std::make_unique<RequestLog>(log_, metrics_, paths_of(all));
  router_ = std::make_unique<api::Router>(std::move(all), *services_);
}

api::ApiOptions ServeProgram::api_options() {
  api::ApiOptions options;
  options.version = parts_.version;
  options.sse_ping_seconds = flags_.ping_seconds;
  options.on_texts = [this](const http::Request& request, const api::ServedModel& model,
                            const api::RunTotals& totals) {
    requests_->add_texts(request.id, model.name, {totals.n_prompt, totals.n_reused, totals.n_new});
    if (recorder_) recorder_->add_texts(request.id, model.model->file().path(), totals.seed);
    if (profiles_) profiles_->finish(request.id);
  };
  options.on_notice = [this](std::string_view notice) {
    const std::lock_guard lock(notices_mutex_);
    if (notices_.insert(std::string(notice)).second) log_.message("info", notice);
  };
  if (profiles_)
    options.watcher_of = [this](const http::Request& r) { return profiles_->start(r); };
  return options;
}

ServeProgram::~ServeProgram() {
  stop_requests();
  workers_->stop();
}

// No further requests, and no loading. Those that wait for a model are answered.
void ServeProgram::stop_requests() {
  stopping_ = true;
  if (io_.joinable()) {
    http_->stop();
    io_.join();
  }
  pool_->stop();
}

PoolOptions ServeProgram::pool_options() {
  const auto warn = [this](std::string_view text) { log_.message("warning", text); };
  PoolOptions options;
  options.models = sources_of(flags_);
  options.max_loaded = flags_.models_max;
  options.max_waiting = static_cast<std::size_t>(std::max(1, flags_.slots)) +
                        static_cast<std::size_t>(flags_.max_queue);
  options.refuse_until_loaded = flags_.one_model();
  options.load = [this, warn](const HostedModel& source, std::int64_t used) {
    auto model = std::exchange(first_, nullptr);
    if (!model) model = open_model(with_settings(flags_, source), source.path, warn);
    return start_model(
        model, source, with_settings(flags_, source), used, metrics_,
        [this](double) { return !stopping_.load(); }, warn);
  };
  options.loaded = [this](const HostedModel& source, const std::exception_ptr& error) {
    loaded(source, error);
  };
  return options;
}

http::ServerOptions ServeProgram::http_options() const {
  http::ServerOptions options;
  options.host = flags_.host;
  options.port = flags_.port;
  options.listening_sockets = sockets_;
  options.timeout = std::chrono::seconds(flags_.timeout_seconds);
  options.max_body_bytes = static_cast<std::size_t>(flags_.max_body);
  options.max_bodies_bytes = std::max(options.max_bodies_bytes, 2 * options.max_body_bytes);
  options.prefix = flags_.api_prefix;
  options.cert_file = flags_.certificate_file;
  options.key_file = flags_.key_file;
  return options;
}

// Where it listens: addresses, or the name from the flags.
std::vector<std::string> ServeProgram::hosts() const {
  return sockets_.empty() ? std::vector{flags_.host} : http::addresses_of(sockets_);
}

// Whether only this machine reaches it.
bool ServeProgram::is_local() const {
  return std::ranges::all_of(
      hosts(), [](const std::string& h) { return is_unix(h) || http::is_loopback(h); });
}

http::AccessOptions ServeProgram::access_options() const {
  http::AccessOptions options;
  options.keys = read_keys(flags_);
  options.origins = flags_.origins;
  options.hosts = flags_.allowed_hosts;
  if (options.hosts.empty() && is_local() && !std::ranges::all_of(hosts(), is_unix))
    options.hosts = http::names_of_this_machine();
  if (flags_.page)
    options.open_paths.insert(options.open_paths.end(), page_paths().begin(), page_paths().end());
  return options;
}

http::Hooks ServeProgram::hooks() {
  http::Hooks hooks;
  hooks.handler = [this](std::shared_ptr<http::Exchange> exchange) { answer(std::move(exchange)); };
  hooks.refuse = api::refusal_reply;
  hooks.gate = [this](const http::RequestHead& head) { return gate(head); };
  hooks.answer_headers = [this](const http::RequestHead& head) {
    return access_->answer_headers(head);
  };
  hooks.log = [this](const http::RequestHead& head, int status, std::size_t, double seconds) {
    requests_->finish(head, status, seconds);
  };
  return hooks;
}

// The reply if the request is refused before its body is read.
std::optional<http::Reply> ServeProgram::gate(const http::RequestHead& head) {
  if (auto reply = access_->check(head)) return reply;
  if (rate_limit_ && head.method == "POST") {
    const int seconds = rate_limit_->seconds_to_wait(access_->client_of(head), Clock::now());
    if (seconds > 0) {
      api::ApiError error(429, "rate_limit_error", "too many requests per minute");
      error.retry_after = seconds;
      return api::error_reply(error, api::error_form(head.path));
    }
  }
  if (auto reply = router_->refusal(head)) return reply;
  if (const auto error = profile_error(head, router_->generates(head), profiles_ != nullptr))
    return api::error_reply(*error, api::error_form(head.path));
  return std::nullopt;
}

std::vector<api::Endpoint> ServeProgram::endpoints() {
  std::vector<api::Endpoint> all = operation_endpoints(*operations_, parts_.version);
  const auto add = [&all](std::vector<api::Endpoint> more) {
    std::ranges::move(more, std::back_inserter(all));
  };
  add(interface_endpoints({.slot_save_path = flags_.slot_folder,
                           .slots = flags_.slots_endpoint,
                           .post_props = flags_.props_writable}));
  add(page_endpoints(*operations_, flags_.page, parts_.draw_plan));
  return all;
}

std::unique_ptr<RequestRecorder> ServeProgram::make_recorder() {
  RequestRecord common;
  common.version = parts_.version;
  common.flags = flags_.repeat_arguments;
  return std::make_unique<RequestRecorder>(flags_.record_folder, std::move(common), log_);
}

void ServeProgram::answer(std::shared_ptr<http::Exchange> exchange) {
  const http::Request& request = exchange->request();
  if (draining_ && request.path != "/health" && request.path != "/v1/health") {
    const api::ApiError error = api::unavailable("the server is shutting down", "draining");
    exchange->reply(api::error_reply(error, api::error_form(request.path)));
    return;
  }
  if (recorder_ && request.method == "POST") exchange = recorder_->record(std::move(exchange));
  router_->handle(std::move(exchange));
}

void ServeProgram::loaded(const HostedModel& source, const std::exception_ptr& error) {
  if (!error) {
    has_loaded_ = true;
    log_.message("info", fmt::format("{} is loaded", source.names.front()));
    notify_systemd("READY=1");
    return;
  }
  if (flags_.one_model() && !has_loaded_) {
    load_error_ = error;
    signals_.wake();
    return;
  }
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    log_.message("error", fmt::format("cannot load {}: {}", source.names.front(), e.what()));
  }
}

void ServeProgram::warn_if_open() {
  if (access_->needs_key() || is_local()) return;
  log_.message("warning",
               fmt::format("anybody who reaches {} may use the server: there are no keys "
                           "(--api-key-file)",
                           fmt::join(hosts(), ", ")));
}

// If the file cannot be read, or has no keys, the old ones stay.
void ServeProgram::reload_keys() {
  try {
    const std::vector<std::string> keys = read_keys(flags_);
    access_->set_keys(keys);
    log_.message("info", fmt::format("{} keys", keys.size()));
  } catch (const Error& error) {
    log_.message("error", fmt::format("the keys stay as they were: {}", error.what()));
  }
}

// Waits until all answers are complete. Returns false if the time is over, or at a second signal.
bool ServeProgram::drain() {
  log_.message("info", "finishing the running requests");
  notify_systemd("STOPPING=1");
  draining_ = true;
  const auto end = Clock::now() + std::chrono::seconds(flags_.shutdown_seconds);
  while (http_->counters().answering > 0) {
    if (Clock::now() >= end) return false;
    if (signals_.wait_until(std::min(end, Clock::now() + kDrainStep)) == Event::terminate)
      return false;
  }
  return true;
}

int ServeProgram::run() {
  http::raise_descriptor_limit();
  std::cerr << "listening on " << http_->url() << '\n' << std::flush;
  warn_if_open();
  if (!flags_.one_model()) notify_systemd("READY=1");
  io_ = std::thread([this] { http_->run(); });
  for (Event event = signals_.wait(); event != Event::terminate; event = signals_.wait()) {
    if (event == Event::reload) reload_keys();
    if (event == Event::woken && load_error_) std::rethrow_exception(load_error_);
  }
  const bool complete = drain();
  stop_requests();
  const bool released = pool_->wait_released(Clock::now() + kCancelTime);
  const int code = complete ? 0 : kAnswersCut;
  // Engines that still compute cannot be destroyed, nor a log that nobody reads.
  if (!log_.flush() || !released) std::_Exit(released ? code : kAnswersCut);
  return code;
}

}  // namespace

int serve(Flags flags, const ProgramParts& parts) {
  if (flags.one_model()) cli::tune_once(flags.model);
  return ServeProgram(std::move(flags), parts).run();
}

}  // namespace weft::server
