#pragma once

#include "weft/scheduler/memory_room.h"

#include "machine/cgroup.h"

namespace weft::cgroup {

// The same with other files, for tests.
MemoryRoom memory_room(const Files& files, std::int64_t needed_cache);

}  // namespace weft::cgroup
