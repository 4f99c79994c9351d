#pragma once
// The profile of one request.

#include <functional>
#include <memory>
#include <string>

#include "weft/serve/engine.h"

namespace weft::server {

// The steps that the texts of one request took part in. Threads: both functions may be called at
// the same time; steps that come later than write() are ignored.
class RequestProfile : public StepWatcher {
 public:
  // Writes no file if there were no steps. REQUIRES: the engine exists. Throws IoError; the file is
  // complete or absent.
  virtual void write(const std::string& path) = 0;
};
using MakeProfile = std::function<std::shared_ptr<RequestProfile>()>;

}  // namespace weft::server
