#pragma once
// ThreadSanitizer cannot see how oneTBB orders its threads (see CMakeLists.txt): a message comes
// after what its sender did before, and wait_for_all() returns after all bodies. The files with
// flow graphs are therefore not instrumented, and annotate each of their edges.

#if defined(WEFT_TELL_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace weft::scheduler {

// Orders everything that this thread did before, before everything that other threads do after
// tsan_acquire() of the same mark.
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
