#pragma once
// What a connection uses of the limit that the bodies of all requests share, and of the ledger.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "weft/base/ledger.h"

#include "refused_error.h"
#include "service.h"

namespace weft::http {

class BodyBudget {
 public:
  explicit BodyBudget(Service& service) : service_(service) {}

  // The body of the current request has `n_bytes` so far. They count until release(), at the end of
  // the answer. Throws RefusedError above the limit.
  void count(std::size_t n_bytes) {
    service_.n_body_bytes += n_bytes - counted_;
    counted_ = n_bytes;
    if (service_.n_body_bytes > service_.options.max_bodies_bytes) refuse("");
    const auto held = static_cast<std::int64_t>(n_bytes);
    if (!taken_.resize(held))
      refuse(": " + process_ledger().refusal(Account::bodies, held - taken_.bytes()));
  }
  void release() {
    const std::size_t n_bytes = std::exchange(counted_, 0);
    service_.n_body_bytes -= n_bytes;
    taken_.set(0);
    if (n_bytes > kLarge) trim_heap();  // what was parsed from it was in small pieces
  }

 private:
  static constexpr std::size_t kLarge = std::size_t{1} << 20;

  [[noreturn]] static void refuse(const std::string& why) {
    throw RefusedError({503, "too many large requests at once, try again later" + why,
                        "unavailable_error", "budget"});
  }

  Service& service_;
  std::size_t counted_ = 0;
  Taken taken_{Account::bodies};
};

}  // namespace weft::http
