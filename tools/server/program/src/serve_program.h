#pragma once
// The parts of a running server, and in which order they are made and end.

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "weft/api/endpoints.h"
#include "weft/api/workers.h"
#include "weft/hosting/model_pool.h"
#include "weft/hosting/operations.h"
#include "weft/hosting/server_metrics.h"
#include "weft/http/access.h"
#include "weft/http/rate_limit.h"
#include "weft/http/server.h"
#include "weft/program/serve.h"

#include "access_log.h"
#include "rank_fault.h"
#include "request_log.h"
#include "request_profiles.h"
#include "request_record.h"
#include "signals.h"

namespace weft::server {

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
  std::shared_ptr<api::ServedModel> load(const HostedModel& source, std::int64_t used);
  void on_rank_lost(const std::string& model, const std::string& why);
  std::unique_ptr<RequestRecorder> make_recorder();
  api::ApiOptions api_options();
  void warn_if_open();
  void reload_keys();
  bool drain();
  bool wait_answered(Clock::time_point until);
  int end(bool complete);
  void stop_requests();

  Flags flags_;
  const std::vector<int> sockets_ = http::inherited_sockets();  // to listen on; usually none
  Signals signals_;                                             // before all threads
  Log log_;
  const ProgramParts parts_;
  std::mutex notices_mutex_;
  std::set<std::string> notices_;  // logged notices
  std::atomic<bool> draining_{false}, stopping_{false};
  RankFault fault_;
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
  std::optional<http::RateLimit> rate_limit_;  // used on the I/O thread
  std::unique_ptr<http::Server> http_;
  std::thread io_;
};

}  // namespace weft::server
