#include "request_profiles.h"

#include <exception>
#include <utility>

#include <fmt/format.h>

namespace weft::server {
namespace {

constexpr std::string_view kHeader = "x-weft-profile";

}  // namespace

std::optional<api::ApiError> profile_error(const http::RequestHead& head, bool generates,
                                           bool has_folder) {
  const std::string_view value = http::find_header(head.headers, kHeader);
  if (value.empty() || value == "0") return std::nullopt;
  if (value != "1") return api::bad_request("X-Weft-Profile", "must be 0 or 1");
  if (!generates)
    return api::bad_request("X-Weft-Profile",
                            fmt::format("{} {} does not generate texts", head.method, head.path));
  if (!has_folder)
    return api::bad_request("X-Weft-Profile", "needs a server with --profile-requests DIR");
  return std::nullopt;
}

RequestProfiles::RequestProfiles(std::string folder, MakeProfile make, Log& log)
    : folder_(std::move(folder)), make_(std::move(make)), log_(log) {}

std::shared_ptr<StepWatcher> RequestProfiles::start(const http::Request& request) {
  if (http::find_header(request.headers, kHeader) != "1") return nullptr;
  auto profile = make_();
  const std::lock_guard lock(mutex_);
  // Requests that were refused after start().
  std::erase_if(profiles_, [](const auto& entry) { return entry.second.expired(); });
  profiles_.insert_or_assign(request.id, profile);
  return profile;
}

void RequestProfiles::finish(const std::string& id) {
  std::shared_ptr<RequestProfile> profile;
  {
    const std::lock_guard lock(mutex_);
    const auto found = profiles_.find(id);
    if (found == profiles_.end()) return;
    profile = found->second.lock();
    profiles_.erase(found);
  }
  try {
    if (profile) profile->write(fmt::format("{}/{}.json", folder_, id));
  } catch (const std::exception& error) {
    log_.message("error", fmt::format("--profile-requests: {}", error.what()));
  }
}

}  // namespace weft::server
