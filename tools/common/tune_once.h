#pragma once
// Programs that compute much with a large model measure the fastest settings of a machine the first
// time that they run there.

#include "common/flags.h"

namespace weft::cli {

// Measures and stores the tunables of the cpu backend (`weft tune`, about 1.5 s, with a line on
// stderr) if none are stored for this machine, WEFT_TUNE is not set, and the model's weights are
// large and may be resident. Does nothing if that fails. Runs in a process of its own, whose memory
// does not count as this one's. REQUIRES: called before the backend is used, and with no other
// thread.
void tune_once(const ModelFlags& flags);

}  // namespace weft::cli
