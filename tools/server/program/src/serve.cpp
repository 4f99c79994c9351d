#include "weft/program/serve.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/api/errors.h"
#include "weft/base/error.h"
#include "weft/base/ledger.h"
#include "weft/hosting/watch_ranks.h"
#include "weft/run/ranks.h"
#include "weft/scheduler/budget.h"
#include "weft/scheduler/communicator.h"

#include "common/tune_once.h"
#include "launched.h"
#include "load_model.h"
#include "model_sources.h"
#include "rank_flags.h"
#include "serve_program.h"
#include "supervise.h"
#include "systemd.h"

namespace weft::server {
namespace {

constexpr std::chrono::milliseconds kDrainStep{20};
// For texts to end after their clients were disconnected.
constexpr std::chrono::seconds kCancelTime{2};
constexpr int kAnswersCut = 1;
// Launchers end what is left of their ranks a second after SIGTERM: for requests to finish, and to
// fail.
constexpr std::chrono::milliseconds kLaunchedTime{300}, kFailTime{400};

std::vector<std::string> paths_of(const std::vector<api::Endpoint>& endpoints) {
  std::vector<std::string> paths{"/openapi.json"};
  for (const api::Endpoint& endpoint : endpoints) {
    paths.push_back(endpoint.path);
    paths.insert(paths.end(), endpoint.aliases.begin(), endpoint.aliases.end());
  }
  return paths;
}

}  // namespace

ServeProgram::ServeProgram(Flags flags, const ProgramParts& parts)
    : flags_(std::move(flags)), log_(flags_.log_file, flags_.log_json), parts_(parts) {
  const auto warn = [this](std::string_view text) { log_.message("warning", text); };
  if (flags_.one_model()) first_ = open_model(flags_, flags_.model.path, warn);
  // Listens before the weights are loaded, so that clients learn that they have to wait.
  if (flags_.rate_limit > 0) rate_limit_.emplace(flags_.rate_limit);
  access_ = std::make_unique<http::Access>(access_options(), api::refusal_reply);
  http_ = std::make_unique<http::Server>(http_options(), hooks());
  workers_ = std::make_unique<api::Workers>();
  PoolOptions pool = pool_options();
  const std::int64_t budget = pool.budget;
  pool_ = std::make_unique<ModelPool>(std::move(pool));
  operations_ = std::make_unique<Operations>(
      Operations{*pool_, metrics_, draining_, budget, flags_.model.session.workers, flags_.metrics,
                 [this] { return fault_.why(); }});
  if (!flags_.record_folder.empty()) recorder_ = make_recorder();
  if (!flags_.profile_folder.empty()) {
    profiles_ = std::make_unique<RequestProfiles>(flags_.profile_folder, parts_.make_profile, log_);
  }
  services_ = std::make_unique<api::Services>(api::Services{*pool_, *workers_, api_options()});
  std::vector<api::Endpoint> all = endpoints();
  requests_ = std::make_unique<RequestLog>(log_, metrics_, paths_of(all));
  router_ = std::make_unique<api::Router>(std::move(all), *services_);
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

std::shared_ptr<api::ServedModel> ServeProgram::load(const HostedModel& source, std::int64_t used) {
  const auto warn = [this](std::string_view text) { log_.message("warning", text); };
  const Flags flags = with_settings(flags_, source);
  auto model = std::exchange(first_, nullptr);
  if (!model && is_launched()) {  // the other ranks have ended with the first one
    on_rank_lost(source.names.front(), source.path + " has changed: the ranks must start again");
    fail<IoError>("{}", fault_.why());
  }
  if (!model) model = open_model(flags, source.path, warn);
  auto served = start_model(
      model, source, flags, used, metrics_, [this](double) { return !stopping_.load(); }, warn);
  if (model->sharding().ranks() > 1) {
    const auto lost = [this, name = source.names.front()](const std::string& why) {
      on_rank_lost(name, why);
    };
    served->texts = watch_ranks(served->texts, lost);
  }
  return served;
}

// On an engine's thread, or on the pool's.
void ServeProgram::on_rank_lost(const std::string& model, const std::string& why) {
  if (flags_.restart) {
    log_.message("error", fmt::format("{}: {}; loading it again", model, why));
    pool_->reload(model);
  } else if (fault_.set(fmt::format("{}: {}", model, why))) {
    signals_.wake();
  }
}

// The reply if the request is refused before its body is read.
std::optional<http::Reply> ServeProgram::gate(const http::RequestHead& head) {
  if (auto reply = access_->check(head)) return reply;
  if (rate_limit_ && head.method == "POST") {
    const int seconds = rate_limit_->seconds_to_wait(access_->client_of(head), Clock::now());
    if (seconds > 0) {
      api::ApiError error(429, "rate_limit_error", "too many requests per minute");
      error.retry_after = seconds;
      return api::error_reply(error, api::error_form(head));
    }
  }
  if (auto reply = router_->refusal(head)) return reply;
  if (const auto error = profile_error(head, router_->generates(head), profiles_ != nullptr))
    return api::error_reply(*error, api::error_form(head));
  return std::nullopt;
}

void ServeProgram::answer(std::shared_ptr<http::Exchange> exchange) {
  const http::Request& request = exchange->request();
  const bool is_health = request.path == "/health" || request.path == "/v1/health";
  if (const std::string why = fault_.why(); !is_health && (draining_ || !why.empty())) {
    const api::ApiError error = why.empty()
                                    ? api::unavailable("the server is shutting down", "draining")
                                    : api::unavailable(why, "rank_lost");
    exchange->reply(api::error_reply(error, api::error_form(request)));
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

// Returns false if the time is over, or at a second signal.
bool ServeProgram::wait_answered(Clock::time_point until) {
  while (http_->counters().answering > 0) {
    if (Clock::now() >= until) return false;
    if (signals_.wait_until(std::min(until, Clock::now() + kDrainStep)) == Event::terminate)
      return false;
  }
  return true;
}

// Waits until all answers are complete. Returns whether they are those that were computed. A signal
// of a launcher means that a rank was lost, or that the launcher was asked to end: either way there
// is little time, and texts that wait for another rank must fail in it.
bool ServeProgram::drain() {
  log_.message("info", "finishing the running requests");
  notify_systemd("STOPPING=1");
  draining_ = true;
  const bool hurries = is_launched() && signals_.from_parent();
  const Clock::duration time =
      hurries ? Clock::duration(kLaunchedTime) : std::chrono::seconds(flags_.shutdown_seconds);
  const bool complete = wait_answered(Clock::now() + time);
  if (is_launched() && (hurries || !complete)) {
    end_waits();
    wait_answered(Clock::now() + kFailTime);
  }
  return complete;
}

int ServeProgram::run() {
  http::raise_descriptor_limit();
  // In one write: others wait for this line and take the address from it.
  std::cerr << fmt::format("listening on {}\n", http_->url()) << std::flush;
  warn_if_open();
  if (!flags_.one_model()) notify_systemd("READY=1");
  io_ = std::thread([this] { http_->run(); });
  while (fault_.why().empty()) {
    const Event event = signals_.wait();
    if (event == Event::terminate) break;
    if (event == Event::reload) reload_keys();
    if (event == Event::woken && load_error_) std::rethrow_exception(load_error_);
  }
  return end(drain());
}

// Returns the exit code.
int ServeProgram::end(bool complete) {
  stop_requests();
  const bool released = pool_->wait_released(Clock::now() + kCancelTime);
  const std::string why = fault_.why();
  if (!why.empty()) std::cerr << "weft serve: " << why << '\n' << std::flush;
  const int code = complete && why.empty() ? 0 : kAnswersCut;
  // Engines that still compute cannot be destroyed, nor a log that nobody reads.
  if (!log_.flush() || !released) std::_Exit(released ? code : kAnswersCut);
  return code;
}

namespace {

// Starts the launcher, which starts this program.
int launch(const Flags& flags) {
  std::vector<std::string> command = split_words(flags.launch);
  command.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  command.emplace_back("serve");
  command.insert(command.end(), flags.server_arguments.begin(), flags.server_arguments.end());
  return supervise(command, flags.restart);
}

}  // namespace

int serve(Flags flags, const ProgramParts& parts) {
  if (is_launched()) {
    block_signals();
    if (follows_rank_0()) return follow(flags);
    check_launched(flags);
    check_files(flags);
  } else if (!flags.launch.empty()) {
    return launch(flags);
  } else if (flags.one_model()) {
    cli::tune_once(flags.model);
  }
  return_large_blocks();
  return ServeProgram(std::move(flags), parts).run();
}

}  // namespace weft::server
