#pragma once
// Messages between ranks, for check_ranks().

#include <string>

#include "weft/scheduler/communicator.h"

namespace weft::checks {

// Sends messages of many sizes to every other rank and compares those that arrive. Every rank calls
// it. Returns a description of what was sent; throws RankError.
std::string exchange_messages(Communicator& own, double timeout);

// The same between n threads.
std::string exchange_messages_in_process(int n, double timeout);

}  // namespace weft::checks
