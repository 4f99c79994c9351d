#include "weft/api/workers.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace weft::api {

struct Workers::Impl {
  explicit Impl(std::size_t max) : max_new(max) {}

  void work() {
    std::unique_lock lock(mutex);
    while (!stop) {
      if (const auto due = timers.begin();
          due != timers.end() && due->first.first <= Clock::now()) {
        times.erase(due->first.second);
        ready.push_back(std::move(due->second));
        timers.erase(due);
      }
      std::deque<Job>& jobs = ready.empty() ? fresh : ready;
      if (jobs.empty()) {
        wait(lock);
        continue;
      }
      Job job = std::move(jobs.front());
      jobs.pop_front();
      // While all threads were busy, none was notified of a timer or of further jobs.
      if (n_idle > 0 && !(timers.empty() && ready.empty() && fresh.empty())) wake.notify_one();
      lock.unlock();
      job();
      job = nullptr;  // releases its contents without the lock
      lock.lock();
    }
  }

  void wait(std::unique_lock<std::mutex>& lock) {
    ++n_idle;
    if (timers.empty()) {
      wake.wait(lock);
    } else {
      const Clock::time_point until = timers.begin()->first.first;  // cancel() may erase the timer
      wake.wait_until(lock, until);
    }
    --n_idle;
  }

  // The release of a job's contents may post further jobs, which are dropped.
  void drop_all() {
    std::deque<Job> dropped_ready, dropped_fresh;
    std::map<std::pair<Clock::time_point, TimerId>, Job> dropped_timers;
    const std::lock_guard lock(mutex);
    dropped_ready.swap(ready);
    dropped_fresh.swap(fresh);
    dropped_timers.swap(timers);
    times.clear();
  }

  const std::size_t max_new;
  mutable std::mutex mutex;
  std::condition_variable wake;
  std::deque<Job> ready, fresh;
  std::map<std::pair<Clock::time_point, TimerId>, Job> timers;
  std::map<TimerId, Clock::time_point> times;  // due times of timers
  TimerId next_timer = 1;
  int n_idle = 0;
  bool stop = false;
  std::vector<std::thread> threads;
};

Workers::Workers(int n_threads, std::size_t max_new) : impl_(std::make_unique<Impl>(max_new)) {
  for (int i = 0; i < n_threads; ++i) impl_->threads.emplace_back([this] { impl_->work(); });
}

Workers::~Workers() {
  stop();
}

void Workers::stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stop = true;
  }
  impl_->wake.notify_all();
  for (std::thread& thread : impl_->threads) thread.join();
  impl_->threads.clear();
  impl_->drop_all();
}

bool Workers::post_new(Job job) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->stop || impl_->fresh.size() >= impl_->max_new) return false;
    impl_->fresh.push_back(std::move(job));
    if (impl_->n_idle == 0) return true;  // busy threads look again
  }
  impl_->wake.notify_one();
  return true;
}

void Workers::post(Job job) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->stop) return;
    impl_->ready.push_back(std::move(job));
    if (impl_->n_idle == 0) return;
  }
  impl_->wake.notify_one();
}

Workers::TimerId Workers::at(Clock::time_point time, Job job) {
  TimerId id = 0;
  {
    const std::lock_guard lock(impl_->mutex);
    id = impl_->next_timer++;
    if (impl_->stop) return id;
    impl_->timers.emplace(std::pair{time, id}, std::move(job));
    impl_->times.emplace(id, time);
  }
  impl_->wake.notify_one();
  return id;
}

void Workers::cancel(TimerId id) {
  Job dropped;
  const std::lock_guard lock(impl_->mutex);
  const auto at = impl_->times.find(id);
  if (at == impl_->times.end()) return;
  if (const auto timer = impl_->timers.find({at->second, id}); timer != impl_->timers.end()) {
    dropped = std::move(timer->second);
    impl_->timers.erase(timer);
  }
  impl_->times.erase(at);
}

std::size_t Workers::n_waiting() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->ready.size() + impl_->fresh.size();
}

}  // namespace weft::api
