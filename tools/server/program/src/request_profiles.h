#pragma once
// Profiles of single requests, which ask for them by a header.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "weft/api/errors.h"
#include "weft/http/exchange.h"
#include "weft/program/request_profile.h"

#include "access_log.h"

namespace weft::server {

// The error in the header "x-weft-profile" of a request. `generates`: whether its endpoint
// generates texts. `has_folder`: whether profiles can be written.
std::optional<api::ApiError> profile_error(const http::RequestHead& head, bool generates,
                                           bool has_folder);

// Writes FOLDER/ID.json for each request that asks for it. Threads: any.
class RequestProfiles {
 public:
  RequestProfiles(std::string folder, MakeProfile make, Log& log);

  // Null if the request does not ask for a profile.
  std::shared_ptr<StepWatcher> start(const http::Request& request);
  // The texts of the request are complete. REQUIRES: their engine and the result of start() exist.
  void finish(const std::string& id);

 private:
  const std::string folder_;
  const MakeProfile make_;
  Log& log_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<RequestProfile>> profiles_;  // by id
};

}  // namespace weft::server
