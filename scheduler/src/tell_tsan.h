#pragma once
// ThreadSanitizer cannot see how oneTBB orders what its threads do (see CMakeLists.txt): that a
// message comes after what its sender did before, and wait_for_all() after all bodies. The files
// with flow graphs are therefore not instrumented, and tell it about each of their own edges.

#if defined(WEFT_TELL_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace weft::scheduler {

// What this thread did so far comes before what others do after tsan_acquire() of the same mark.
inline void tsan_release(void* mark [[maybe_unused]]) {
#if defined(WEFT_TELL_TSAN)
  __tsan_release(mark);
#endif
}
inline void tsan_acquire(void* mark [[maybe_unused]]) {
#if defined(WEFT_TELL_TSAN)
  __tsan_acquire(mark);
#endif
}

}  // namespace weft::scheduler
