#include "machine/crew.h"

#include <atomic>
#include <ctime>
#include <memory>
#include <new>
#include <semaphore>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "weft/scheduler/workers.h"

#include "machine/workers_impl.h"
#include "replay/notebook.h"

namespace weft {
namespace {

using namespace scheduler;

using test::Notebook;
using test::sleep_us;

// The test's own threads. When called, each comes at once, late, or never.
class Hands {
 public:
  Hands(Crew& crew, int workers, int late_us) : crew_(crew) {
    for (int w = 1; w < workers; ++w)
      bells_.push_back(std::make_unique<std::counting_semaphore<>>(0));
    for (int w = 1; w < workers; ++w) {
      threads_.emplace_back([this, w, late_us] {
        for (;;) {
          bell(w).acquire();
          if (closing_.load()) return;
          if (late_us > 0) sleep_us(late_us * w);
          crew_.serve(w);
        }
      });
    }
  }
  ~Hands() {
    closing_ = true;
    crew_.close();
    for (auto& bell : bells_) bell->release();
    for (std::thread& thread : threads_) thread.join();
  }
  void call(int w) {
    ++calls;
    bell(w).release();
  }
  int calls = 0;

 private:
  std::counting_semaphore<>& bell(int w) { return *bells_[static_cast<std::size_t>(w - 1)]; }

  Crew& crew_;
  std::atomic<bool> closing_{false};
  std::vector<std::unique_ptr<std::counting_semaphore<>>> bells_;
  std::vector<std::thread> threads_;
};

TEST_CASE("every piece runs once, after the whole previous stage, whichever worker is late") {
  for (const int workers : {2, 3, 8}) {
    for (const int late_us : {0, 30, 3000}) {
      CAPTURE(workers);
      CAPTURE(late_us);
      Crew crew(workers);
      Hands hands(crew, workers, late_us);
      for (unsigned seed = 0; seed < 4; ++seed) {
        const int lanes = seed == 3 ? workers + 1 : workers - static_cast<int>(seed) % 2;
        Notebook job(seed, lanes, 12);
        for (int run = 1; run <= 25; ++run) {
          if (run % 8 == 0) sleep_us(100);  // longer than a worker stays
          crew.run(job, [&](int w) { hands.call(w); });
          REQUIRE(job.wrong(run) == 0);
          job.next_run();
        }
      }
    }
  }
}

TEST_CASE("a worker that never starts is called once and not waited for") {
  Crew crew(3);
  Notebook job(1, 3, 20);
  int calls = 0;
  for (int run = 1; run <= 10; ++run) {
    crew.run(job, [&](int) { ++calls; });
    REQUIRE(job.wrong(run) == 0);
    job.next_run();
  }
  CHECK(calls == 2);
}

TEST_CASE("a worker that cannot start is skipped, and tried again next time") {
  Crew crew(2);
  Notebook job(5, 2, 6);
  int n_calls = 0;
  for (int run = 1; run <= 3; ++run) {
    crew.run(job, [&](int) {
      ++n_calls;
      throw std::bad_alloc();
    });
    CHECK(job.wrong(run) == 0);
    job.next_run();
  }
  CHECK(n_calls == 3);
}

TEST_CASE("oneTBB threads start when called, even if there are more than the machine has cores") {
  for (const int n : {2, 5}) {
    CAPTURE(n);
    Workers workers(n);
    Notebook job(7, n, 30);
    for (int run = 1; run <= 200; ++run) {
      if (run % 50 == 0) sleep_us(2000);
      workers.impl().crew->run(job, [&](int w) { workers.impl().crew_threads->call(w); });
      REQUIRE(job.wrong(run) == 0);
      job.next_run();
    }
  }
}

TEST_CASE("a waiting crew uses no processor time") {
  Workers workers(2);
  Notebook job(7, 2, 30);
  workers.impl().crew->run(job, [&](int w) { workers.impl().crew_threads->call(w); });
  CHECK(test::eventually_idle());
}

}  // namespace
}  // namespace weft
