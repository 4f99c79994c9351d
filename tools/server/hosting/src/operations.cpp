#include "weft/hosting/operations.h"

#include <array>
#include <cstdio>
#include <limits>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "weft/api/errors.h"
#include "weft/base/json_string.h"
#include "weft/base/ledger.h"
#include "weft/hosting/model_pool.h"
#include "weft/hosting/server_metrics.h"
#include "weft/scheduler/memory_room.h"

namespace weft::server {
namespace {

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double n(auto value) {
  return static_cast<double>(value);
}

void add_prompt_metrics(MetricsText& text, const PoolCounters& pool) {
  const EngineCounters& e = pool.engines;
  text.counter("prompt_tokens_total", "Tokens of prompts that were computed.", n(e.prompt_tokens));
  text.counter("prompt_seconds_total", "Time spent on prompts.", e.prompt_seconds);
  text.counter("prompt_tokens_cached_total", "Tokens of prompts that were reused.",
               n(e.prompt_tokens_reused));
  text.counter("prompt_tokens_moved_total", "Those of them that came from other positions.",
               n(e.prompt_tokens_moved));
  text.counter("prompts_continued_total", "Prompts whose beginning was held.",
               n(e.prompts_continued));
  text.counter("prompts_from_start_total", "Prompts of which nothing was held.",
               n(e.prompts_from_start));
  text.counter("evicted_tokens_total", "Tokens of kept texts that made room for others.",
               n(e.evicted_tokens));
  text.gauge(
      "memory_level",
      "What is given up for lack of memory: 0 nothing, 1 texts that ended, 2 also wide steps "
      "of prompts, 3 also new requests.",
      n(static_cast<int>(pool.memory_level)));
  text.counter("memory_levels_total", "How often that changed.", n(e.memory_levels));
  text.counter("tokens_dropped_total", "Tokens dropped at the end of contexts.",
               n(e.tokens_dropped));
  text.gauge("held_texts", "Texts in memory, running ones included.", n(pool.held_texts));
  text.gauge("held_tokens", "Their tokens, each prefix once.", n(pool.held_tokens));
  text.gauge("held_bytes", "What these tokens take of the models' states.", n(pool.held_bytes));
  text.counter("prepared_tokens_total", "Tokens of prompts that were computed before they came.",
               n(e.prepared_tokens));
  text.counter("prepared_seconds_total", "Time spent on them.", e.prepared_seconds);
}

void add_snapshot_metrics(MetricsText& text, const PoolCounters& pool) {
  const SnapshotCounters& s = pool.engines.snapshots;
  text.gauge("snapshots", "Files that the loaded models can continue texts from.",
             n(pool.snapshot_files));
  text.gauge("snapshot_bytes", "Their bytes on the disk.", n(pool.snapshot_bytes));
  text.counter("snapshot_tokens_read_total", "Tokens of prompts that were read from them.",
               n(s.tokens_read));
  text.counter("snapshot_bytes_read_total", "Bytes of the files with these.", n(s.bytes_read));
  text.counter("snapshot_seconds_total", "Time of searching, reading and restoring them.",
               s.seconds);
  text.counter("snapshots_written_total", "Files that were written.", n(s.written));
  text.counter("snapshots_removed_total", "Files that made room for others.", n(s.removed));
  text.counter("snapshots_failed_total", "Files that could not be written.", n(s.failed));
  text.counter("snapshots_slower_total",
               "Prompts that were computed because that is faster than reading them.", n(s.slower));
}

void add_engine_metrics(MetricsText& text, const PoolCounters& pool) {
  const EngineCounters& e = pool.engines;
  text.counter("tokens_predicted_total", "Generated tokens.", n(e.new_tokens));
  text.counter("tokens_predicted_seconds_total", "Time spent on generated tokens.", e.new_seconds);
  text.counter("tokens_drafted_total", "Guesses of drafts that steps checked.", n(e.drafted));
  text.counter("tokens_drafted_accepted_total", "Guesses of drafts that were right.",
               n(e.drafted_right));
  text.counter("tokens_drafted_seconds_total",
               "Time of steps with drafts, if that of steps without guesses was measured.",
               e.drafting_seconds);
  text.counter("tokens_drafted_seconds_without_total",
               "What the same tokens would have taken by steps without guesses.",
               e.seconds_without_drafts);
  text.counter("weight_bytes_read_total", "Bytes of streamed weights that were read from disk.",
               n(e.weight_bytes_read));
  text.counter("experts_in_memory_total", "Experts that steps needed and that were in the cache.",
               n(e.experts_in_memory));
  text.counter("experts_missing_total", "Experts that steps needed and that had to be read.",
               n(e.experts_missing));
  text.counter("weight_wait_seconds_total", "Time for which workers waited for streamed weights.",
               e.weight_wait_seconds);
  text.counter("texts_total", "Requests to the engines.", n(e.requests));
  text.counter("requests_cancelled_total", "Requests whose client left, and other cancellations.",
               n(e.cancelled));
  text.counter("texts_failed_total", "Requests that failed while they were computed.", n(e.failed));
  text.counter("steps_total", "Steps of the models.", n(e.steps));
  text.gauge("requests_processing", "Requests that are being computed.", n(pool.n_running));
  text.gauge("requests_deferred", "Requests that wait for a slot.", n(pool.n_waiting));
  text.gauge("slots_total", "Requests that can be computed at a time.", n(pool.n_slots));
  text.counter("model_loads_total", "Models that were loaded.", n(pool.loads));
  text.counter("model_unloads_total", "Models that were unloaded.", n(pool.unloads));
}

void add_memory_metrics(MetricsText& text, const PoolCounters& pool, std::int64_t budget) {
  const MemoryUse& m = pool.memory;
  text.begin("memory_bytes", MetricsText::Kind::gauge, "Memory by purpose, as weft plan predicts.");
  const std::pair<const char*, std::int64_t> kinds[] = {{"weights_mapped", m.weights_mapped},
                                                        {"weights_resident", m.weights_resident},
                                                        {"weights_streamed", m.weights_streamed},
                                                        {"state", m.state},
                                                        {"arena", m.arena},
                                                        {"scratch", m.scratch},
                                                        {"program", m.program},
                                                        {"other", m.other},
                                                        {"device", m.device}};
  for (const auto& [kind, bytes] : kinds) text.sample(static_cast<double>(bytes), {{"kind", kind}});
  text.gauge("memory_allocated_bytes", "What sessions have allocated of them.",
             static_cast<double>(pool.allocated_bytes));
  const Ledger& ledger = process_ledger();
  text.begin("memory_taken_bytes", MetricsText::Kind::gauge,
             "Memory beside the plans of models, by purpose.");
  for (const Ledger::Line& line : ledger.lines())
    text.sample(static_cast<double>(line.used),
                {{"account", std::string(to_string(line.account))}});
  text.begin("memory_taken_peak_bytes", MetricsText::Kind::gauge, "The most that it was.");
  for (const Ledger::Line& line : ledger.lines())
    text.sample(static_cast<double>(line.peak),
                {{"account", std::string(to_string(line.account))}});
  text.gauge("memory_taken_limit_bytes", "Limit of all these accounts together.",
             static_cast<double>(ledger.limit()));
  const MemoryRoom room = memory_room();
  if (room.bytes < std::numeric_limits<std::int64_t>::max())
    text.gauge("memory_room_bytes", "What the control group and the machine leave.",
               static_cast<double>(room.bytes));
  text.gauge("memory_budget_bytes", "Limit of all kinds together.", static_cast<double>(budget));
}

void add_server_metrics(MetricsText& text, const ServerMetrics& metrics) {
  text.begin("requests_total", MetricsText::Kind::counter, "Answers by path and status.");
  for (const auto& [key, count] : metrics.requests()) {
    text.sample(static_cast<double>(count),
                {{"path", key.first}, {"status", fmt::format("{}", key.second)}});
  }
  text.histogram("time_to_first_token_seconds", "From the request to its first token.",
                 metrics.time_to_first_token);
  text.histogram("time_between_tokens_seconds", "Between the tokens of a text.",
                 metrics.time_between_tokens);
  text.histogram("queue_seconds", "Time in the queue.", metrics.queue_time);
  text.histogram("request_seconds", "From the head of a request to the end of its answer.",
                 metrics.request_time);
}

http::Reply reply_with(std::string body) {
  http::Reply reply;
  reply.body = std::move(body);
  return reply;
}

std::string fault_of(const Operations& operations) {
  return operations.fault ? operations.fault() : std::string();
}

http::Reply health_reply(const Operations& operations) {
  const std::string_view health = health_of(operations);
  if (health == "ready") return reply_with(R"({"status":"ok","state":"ready"})");
  const std::string fault = fault_of(operations);
  http::Reply reply = api::error_reply(
      api::unavailable(fault.empty() ? fmt::format("the server is {}", health) : fault,
                       std::string(health)),
      api::ErrorForm::openai);
  // The state beside the error, for programs that look for it in either place.
  reply.body.insert(1, fmt::format("\"status\":\"{0}\",\"state\":\"{0}\",", health));
  return reply;
}

}  // namespace

std::string_view health_of(const Operations& operations) {
  if (!fault_of(operations).empty()) return "failed";
  if (operations.draining) return "draining";
  switch (operations.pool.state()) {
    case ModelPool::State::loading:
      return "loading";
    case ModelPool::State::failed:
      return "failed";
    case ModelPool::State::ready:
      break;
  }
  return "ready";
}

std::int64_t resident_bytes() {
  long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return std::int64_t{pages} * sysconf(_SC_PAGESIZE);
}

std::string metrics_text(const Operations& operations) {
  MetricsText text("weft_");
  const PoolCounters pool = operations.pool.counters();
  add_prompt_metrics(text, pool);
  add_snapshot_metrics(text, pool);
  add_engine_metrics(text, pool);
  add_memory_metrics(text, pool, operations.memory_budget);
  add_server_metrics(text, operations.metrics);
  text.counter("cpu_seconds_total", "CPU time of the process.", cpu_seconds());
  text.gauge("resident_bytes", "Resident memory of the process, with file pages.",
             static_cast<double>(resident_bytes()));
  text.gauge("workers", "Threads that compute, for each model.", operations.workers);
  return std::move(text).take();
}

std::vector<api::Endpoint> operation_endpoints(const Operations& operations,
                                               const std::string& version) {
  std::vector<api::Endpoint> endpoints;
  const auto add = [&](const char* path, const char* operation, const char* summary,
                       std::function<http::Reply()> answer) -> api::Endpoint& {
    const auto handle = [answer = std::move(answer)](const std::shared_ptr<api::ApiCall>& call) {
      call->exchange->reply(answer());
    };
    api::Endpoint& endpoint =
        endpoints.emplace_back(api::plain_endpoint("GET", path, operation, summary, handle));
    endpoint.quick = true;
    return endpoint;
  };
  add("/health", "health", "Whether the server is ready: 200, or 503 while it loads or drains",
      [&operations] { return health_reply(operations); })
      .aliases = {"/v1/health"};
  add("/version", "version", "The server's version",
      [version] { return reply_with(fmt::format("{{\"version\":{}}}", json_string(version))); });
  if (!operations.show_metrics) return endpoints;
  constexpr const char* kType = "text/plain; version=0.0.4; charset=utf-8";
  add("/metrics", "metrics", "Counters for Prometheus", [&operations] {
    http::Reply reply = reply_with(metrics_text(operations));
    reply.content_type = kType;
    return reply;
  }).answer_type = kType;
  return endpoints;
}

}  // namespace weft::server
