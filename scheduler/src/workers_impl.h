#pragma once

#include "weft/scheduler/workers.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <memory>

namespace weft {

struct Workers::Impl {
  std::unique_ptr<oneapi::tbb::global_control> allow;  // where more threads are asked for than oneTBB makes by itself
  oneapi::tbb::task_arena arena;
};

}  // namespace weft
