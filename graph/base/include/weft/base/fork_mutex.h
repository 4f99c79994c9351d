#pragma once
// A mutex that works in the child of a fork, whatever the threads of the parent did: the child has
// only the thread that forked, and the owner of another thread's mutex would never unlock it.

#include <mutex>

namespace weft {

class ForkMutex {
 public:
  // How long it is held: fork() waits until the holders of brief ones are done, so that what they
  // protect is whole in the child. A lasting one is free in the child, where nobody holds it; it
  // must protect nothing that is half-changed while it is held.
  enum class Held { briefly, lasting };

  explicit ForkMutex(Held held = Held::briefly);
  ~ForkMutex();
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;

  void lock() { mutex_.lock(); }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  friend class ForkMutexes;
  std::mutex mutex_;
  const Held held_;
};

}  // namespace weft
