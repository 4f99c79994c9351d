#include "session/session_files.h"

#include "session/session_stream.h"
#include "weights/weight_loader.h"

namespace weft::run {

void SessionFiles::check_mapped() const {
  file_.check_mapped();
  if (resident_) resident_->check_mapped();
  if (stream_) stream_->check_mapped();
}

void SessionFiles::check() {
  constexpr double kAskEvery = 1;  // seconds
  check_mapped();
  if (seconds_since(checked_) <= kAskEvery) return;
  file_.check_unchanged();
  checked_ = Clock::now();
}

}  // namespace weft::run
