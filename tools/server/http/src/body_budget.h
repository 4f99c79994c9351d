#pragma once
// What a connection uses of the limit that the bodies of all requests share.

#include <cstddef>
#include <utility>

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
    if (service_.n_body_bytes > service_.options.max_bodies_bytes)
      throw RefusedError(
          {503, "too many large requests at once, try again later", "unavailable_error", "budget"});
  }
  void release() { service_.n_body_bytes -= std::exchange(counted_, 0); }

 private:
  Service& service_;
  std::size_t counted_ = 0;
};

}  // namespace weft::http
