#pragma once
// Thrown inside the server if a request is refused.

#include <string>
#include <utility>

#include "weft/base/error.h"
#include "weft/http/server.h"

namespace weft::http {

class RefusedError : public Error {
 public:
  explicit RefusedError(Refusal refusal) : Error(refusal.message), refusal_(std::move(refusal)) {}
  RefusedError(int status, std::string message)
      : RefusedError(Refusal{status, std::move(message)}) {}
  const Refusal& refusal() const { return refusal_; }

 private:
  Refusal refusal_;
};

}  // namespace weft::http
