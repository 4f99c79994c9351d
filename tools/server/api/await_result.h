#pragma once
// Results of an engine that come later, without a thread that waits for them.

#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <utility>

#include "api/routes.h"

namespace weft::api {

namespace await {
inline constexpr std::chrono::microseconds kMinInterval{200}, kMaxInterval{10'000};

template <class T, class F>
void poll(const std::shared_ptr<Call>& call, std::shared_ptr<std::future<T>> result, F use,
          std::chrono::microseconds interval) {
  if (result->wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    const auto next = std::min<std::chrono::microseconds>(interval * 2, kMaxInterval);
    call->services.workers.at(Clock::now() + interval,
                              [call, result, use, next] { poll(call, result, use, next); });
    return;
  }
  try {
    use(result->get());
  } catch (...) {
    call->fail(as_api_error(std::current_exception()));
  }
}
}  // namespace await

// Calls `use` with the result on a preparing thread, soon after it is there. Exceptions of the
// future and of `use` are answered.
template <class T, class F>
void when_ready(std::shared_ptr<Call> call, std::future<T> result, F use) {
  await::poll(call, std::make_shared<std::future<T>>(std::move(result)), std::move(use),
              await::kMinInterval);
}

}  // namespace weft::api
