// With which options the parts of a server are made.

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "weft/api/errors.h"
#include "weft/api/text_run.h"
#include "weft/page/page.h"
#include "weft/scheduler/budget.h"

#include "interfaces.h"
#include "model_sources.h"
#include "serve_program.h"

namespace weft::server {
namespace {

// A path from --host, or a socket that was inherited.
bool is_unix(const std::string& host) {
  return host == http::kUnixAddress || host.ends_with(".sock");
}

}  // namespace

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
  options.client_of = [this](const http::Request& r) { return access_->client_of(r); };
  if (!flags_.shares_cache)
    options.owner_of = [this](const http::Request& r) { return access_->owner_of(r); };
  options.on_notice = [this](std::string_view notice) {
    const std::lock_guard lock(notices_mutex_);
    if (notices_.insert(std::string(notice)).second) log_.message("info", notice);
  };
  if (flags_.logs_differences)
    options.on_difference = [this](const http::Request& r, std::string_view difference) {
      log_.message("info", fmt::format("request {}: {}", r.id, difference));
    };
  if (profiles_)
    options.watcher_of = [this](const http::Request& r) { return profiles_->start(r); };
  return options;
}

PoolOptions ServeProgram::pool_options() {
  PoolOptions options;
  options.models =
      sources_of(flags_, [this](std::string_view text) { log_.message("warning", text); });
  options.max_loaded = flags_.models_max;
  options.max_waiting = static_cast<std::size_t>(std::max(1, flags_.slots)) +
                        static_cast<std::size_t>(flags_.max_queue);
  options.refuse_until_loaded = flags_.one_model();
  options.budget = flags_.model.session.mem_budget;
  if (options.budget == 0) options.budget = default_budget();
  options.load = [this](const HostedModel& source, std::int64_t used) {
    return load(source, used);
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
  if (flags_.page) {
    options.open_paths.insert(options.open_paths.end(), page_paths().begin(), page_paths().end());
    options.page_paths.insert(options.page_paths.end(), page_paths().begin(), page_paths().end());
  }
  return options;
}

http::Hooks ServeProgram::hooks() {
  http::Hooks hooks;
  hooks.handler = [this](std::shared_ptr<http::Exchange> exchange) { answer(std::move(exchange)); };
  hooks.refuse = api::refusal_reply;
  hooks.gate = [this](const http::RequestHead& head) { return gate(head); };
  hooks.takes_body = [this](const http::RequestHead& head) { return access_->takes_body(head); };
  hooks.answer_headers = [this](const http::RequestHead& head) {
    return access_->answer_headers(head);
  };
  hooks.log = [this](const http::RequestHead& head, int status, std::size_t, double seconds) {
    requests_->finish(head, status, seconds);
  };
  return hooks;
}

std::vector<api::Endpoint> ServeProgram::endpoints() {
  std::vector<api::Endpoint> all = operation_endpoints(*operations_, parts_.version);
  const auto add = [&all](std::vector<api::Endpoint> more) {
    std::ranges::move(more, std::back_inserter(all));
  };
  add(interface_endpoints({.slot_save_path = flags_.slot_folder,
                           .slot_quota = flags_.slot_quota,
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

}  // namespace weft::server
