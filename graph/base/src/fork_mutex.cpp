#include "weft/base/fork_mutex.h"

#include <new>
#include <thread>

#include <pthread.h>

namespace weft {

// The list of all, whose own mutex is held while the process forks.
class ForkMutexes {
 public:
  static ForkMutexes& all() {
    static ForkMutexes& instance = *new ForkMutexes;  // never destroyed, as static mutexes use it
    return instance;
  }

  void add(ForkMutex& m) {
    const std::lock_guard lock(mutex_);
    m.next_ = first_;
    if (first_) first_->previous_ = &m;
    first_ = &m;
  }
  void remove(ForkMutex& m) {
    const std::lock_guard lock(mutex_);
    if (m.next_) m.next_->previous_ = m.previous_;
    (m.previous_ ? m.previous_->next_ : first_) = m.next_;
  }

 private:
  ForkMutexes() { ::pthread_atfork(prepare, in_parent, in_child); }

  // Their order is unknown, so no thread may wait for one while it holds others.
  static void prepare() {
    all().mutex_.lock();
    while (!all().try_lock_brief()) std::this_thread::yield();
  }
  static void in_parent() {
    all().unlock_brief(nullptr);
    all().mutex_.unlock();
  }
  static void in_child() {
    for (ForkMutex* m = all().first_; m; m = m->next_) {
      if (m->held_ == ForkMutex::Held::lasting) ::new (static_cast<void*>(&m->mutex_)) std::mutex;
    }
    in_parent();
  }

  bool try_lock_brief() {
    for (ForkMutex* m = first_; m; m = m->next_) {
      if (m->held_ == ForkMutex::Held::lasting || m->try_lock()) continue;
      unlock_brief(m);
      return false;
    }
    return true;
  }
  void unlock_brief(const ForkMutex* end) {
    for (ForkMutex* m = first_; m != end; m = m->next_) {
      if (m->held_ == ForkMutex::Held::briefly) m->unlock();
    }
  }

  std::mutex mutex_;
  ForkMutex* first_ = nullptr;
};

ForkMutex::ForkMutex(Held held) : held_(held) {
  ForkMutexes::all().add(*this);
}

ForkMutex::~ForkMutex() {
  ForkMutexes::all().remove(*this);
}

}  // namespace weft
