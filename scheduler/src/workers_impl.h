#pragma once

#include <memory>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include "weft/scheduler/workers.h"

namespace weft {

struct Workers::Impl {
  std::unique_ptr<oneapi::tbb::global_control>
      allow;  // where more threads are asked for than oneTBB makes by itself
  oneapi::tbb::task_arena arena;
};

}  // namespace weft
