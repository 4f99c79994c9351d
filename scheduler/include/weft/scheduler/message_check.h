#pragma once
// A check of the messages between ranks, whatever carries them.

#include <string>

#include "weft/scheduler/communicator.h"

namespace weft {

// Sends messages of many sizes on both channels to every other rank, compares those that arrive,
// and waits up to `timeout` seconds for each. Every rank calls it. Returns what was sent: "12 sizes
// up to 4.0 MiB between 2 ranks (in process), all as sent". Throws RankError "a message of 7 bytes
// from rank 1 to rank 0 arrived with other contents", and like Communicator; the other ranks are
// then told why.
std::string check_messages(Communicator& own, double timeout);

}  // namespace weft
