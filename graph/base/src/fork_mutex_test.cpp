#include "weft/base/fork_mutex.h"

#include <atomic>
#include <thread>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "weft/base/no_destructor.h"

using namespace weft;

namespace {

// Whether a child of fork() can lock the mutex. A child that cannot hangs, until the alarm.
bool free_in_child(ForkMutex& mutex) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    mutex.lock();
    mutex.unlock();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("a mutex that another thread takes again and again is free in every child") {
  ForkMutex mutex, other;
  std::atomic<bool> stop = false;
  std::thread holder([&] {
    while (!stop) {
      const std::scoped_lock lock(mutex, other);
    }
  });
  bool all_free = true;
  for (int i = 0; i < 50; ++i) all_free = all_free && free_in_child(mutex) && free_in_child(other);
  stop = true;
  holder.join();
  CHECK(all_free);
}

TEST_CASE("fork() does not wait for a lasting mutex, which is free in the child") {
  ForkMutex mutex(ForkMutex::Held::lasting);
  std::atomic<bool> held = false, stop = false;
  std::thread holder([&] {
    const std::lock_guard lock(mutex);
    held = true;
    stop.wait(false);
  });
  while (!held) std::this_thread::yield();
  CHECK(free_in_child(mutex));
  CHECK_FALSE(mutex.try_lock());  // the parent's is still held
  stop = true;
  stop.notify_one();
  holder.join();
  CHECK(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("a value without a destructor is made and never destroyed") {
  struct Counted {
    explicit Counted(int& n) : destroyed(n) {}
    ~Counted() { ++destroyed; }
    int& destroyed;
  };
  int destroyed = 0;
  {
    const NoDestructor<Counted> value(destroyed);
    CHECK(&value->destroyed == &destroyed);
    CHECK(&(*value).destroyed == &destroyed);
  }
  CHECK(destroyed == 0);
}
