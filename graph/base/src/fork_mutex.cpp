#include "weft/base/fork_mutex.h"

#include <atomic>
#include <new>
#include <thread>

#include <pthread.h>

namespace weft {

// The list of all. Its places are never freed, and are taken without a lock: mutexes are made
// within initializers of statics, which a fork must not find waiting.
class ForkMutexes {
 public:
  static ForkMutexes& all() {
    static ForkMutexes& instance = *new ForkMutexes;  // never destroyed, as static mutexes use it
    return instance;
  }

  void add(ForkMutex& m) {
    for (Place* p = first_; p; p = p->next) {
      ForkMutex* none = nullptr;
      if (p->mutex.compare_exchange_strong(none, &m)) return;
    }
    auto* place = new Place{.mutex = &m, .next = first_};
    while (!first_.compare_exchange_weak(place->next, place)) {
    }
  }
  void remove(ForkMutex& m) {
    const std::lock_guard lock(forking_);  // which uses the mutexes
    for (Place* p = first_; p; p = p->next) {
      if (p->mutex == &m) p->mutex = nullptr;
    }
  }

 private:
  struct Place {
    std::atomic<ForkMutex*> mutex;
    Place* next;
    bool locked = false;  // by the fork
  };

  ForkMutexes() { ::pthread_atfork(prepare, in_parent, in_child); }

  // Their order is unknown, so no thread may wait for one while it holds others.
  static void prepare() {
    all().forking_.lock();
    while (!all().try_lock_brief()) std::this_thread::yield();
  }
  static void in_parent() {
    all().unlock_brief();
    all().forking_.unlock();
  }
  // Whoever holds a mutex that the fork did not lock does not exist here.
  static void in_child() {
    for (Place* p = all().first_; p; p = p->next) {
      ForkMutex* const m = p->mutex;
      if (m && !p->locked) ::new (static_cast<void*>(&m->mutex_)) std::mutex;
    }
    in_parent();
  }

  bool try_lock_brief() {
    for (Place* p = first_; p; p = p->next) {
      ForkMutex* const m = p->mutex;
      if (!m || m->held_ == ForkMutex::Held::lasting) continue;
      p->locked = m->try_lock();
      if (p->locked) continue;
      unlock_brief();
      return false;
    }
    return true;
  }
  void unlock_brief() {
    for (Place* p = first_; p; p = p->next) {
      if (p->locked) p->mutex.load()->unlock();
      p->locked = false;
    }
  }

  std::mutex forking_;
  std::atomic<Place*> first_ = nullptr;
};

ForkMutex::ForkMutex(Held held) : held_(held) {
  ForkMutexes::all().add(*this);
}

ForkMutex::~ForkMutex() {
  ForkMutexes::all().remove(*this);
}

}  // namespace weft
