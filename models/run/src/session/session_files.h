#pragma once
// The files that the weights of a session are read from.

#include "weft/base/clock.h"
#include "weft/files/checkpoint.h"

namespace weft::run {

class ResidentWeights;
class SessionStream;

class SessionFiles {
 public:
  // The last two are null if there are none. All outlive it.
  SessionFiles(const Checkpoint& file, const ResidentWeights* resident, const SessionStream* stream)
      : file_(file), resident_(resident), stream_(stream) {}

  // Throws IoError if a file that weights are mapped from has lost bytes.
  void check_mapped() const;
  // The same, and if one was written by others since it was opened. A program that overwrites a
  // file truncates it first, and a step that reads it then fails; a file that was overwritten
  // between two steps is found here, within a second.
  void check();

 private:
  const Checkpoint& file_;
  const ResidentWeights* resident_;
  const SessionStream* stream_;
  Clock::time_point checked_ = Clock::now();  // when the system was asked about the files
};

}  // namespace weft::run
