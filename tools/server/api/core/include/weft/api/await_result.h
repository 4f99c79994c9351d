#pragma once
// Results of an engine that come later. A thread that waited for them could prepare no other
// requests.

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "weft/api/endpoints.h"
#include "weft/api/workers.h"

namespace weft::api {

namespace await {
inline constexpr std::chrono::microseconds kMinPause{200}, kMaxPause{4000};

template <class T>
struct Pending {
  std::shared_ptr<ApiCall> call;
  std::future<T> result;
  std::string param, folder;
};

template <class T, class Use>
void poll(const std::shared_ptr<Pending<T>>& pending, Use use, std::chrono::microseconds pause) {
  if (pending->result.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    const auto next = std::min(2 * pause, kMaxPause);
    pending->call->services.workers.at(Clock::now() + pause,
                                       [pending, use, next] { poll(pending, use, next); });
    return;
  }
  try {
    use(pending->result.get());
  } catch (...) {
    pending->call->fail(
        without_folder(as_api_error(std::current_exception(), pending->param), pending->folder));
  }
}
}  // namespace await

// Calls `use` with the result on a preparing thread, soon after it is there. Exceptions of the
// future and of `use` are answered; `param` names the field that they concern, and `folder` is left
// out of paths in their messages.
template <class T, class Use>
void when_ready(std::shared_ptr<ApiCall> call, std::future<T> result, Use use,
                std::string param = {}, std::string folder = {}) {
  auto pending = std::make_shared<await::Pending<T>>(
      await::Pending<T>{std::move(call), std::move(result), std::move(param), std::move(folder)});
  await::poll(pending, std::move(use), await::kMinPause);
}

}  // namespace weft::api
