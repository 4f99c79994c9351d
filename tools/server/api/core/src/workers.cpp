#include "weft/api/workers.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

namespace weft::api {
namespace {

// So many long jobs may run beside the threads for others. One client may have half of them.
constexpr int kMaxLong = 8;
// Added to their nice value. They still get a part of a busy processor.
constexpr int kNicer = 5;

}  // namespace

struct Workers::Impl {
  // A thread with the job that it runs.
  struct Worker {
    std::thread thread = {};
    pid_t id = 0;
    bool runs = false;
    bool is_long = false;  // another thread has taken its place, and it ends after its job
    bool has_ended = false;
    Clock::time_point began = {};
    std::string client = {};  // whose job it is; empty: nobody's
  };
  struct Ready {
    Job job;
    std::string client;
  };
  struct Client {
    std::deque<Job> jobs;
    int n_running = 0, n_long = 0;  // jobs that run: on threads for all, and long ones
  };

  Impl(int n, std::size_t max, Clock::duration l) : max_new(max), long_after(l) {
    const std::lock_guard lock(mutex);
    for (int i = 0; i < n; ++i) add_worker();
    watcher = std::thread([this] { watch(); });
  }

  void add_worker() {
    Worker& w = workers.emplace_back();
    try {
      w.thread = std::thread([this, &w] { work(w); });
    } catch (...) {
      workers.pop_back();
      throw;
    }
    ++n_short;
  }

  void work(Worker& self) {
    std::unique_lock lock(mutex);
    self.id = ::gettid();
    while (!stop && !self.is_long) {
      add_due_timers();
      Job job = next_job(self);
      if (!job) {
        wait(lock);
        continue;
      }
      // While all threads were busy, none was notified of a timer or of further jobs.
      if (n_idle > 0 && !(timers.empty() && ready.empty() && n_fresh == 0)) wake.notify_one();
      self.began = Clock::now();
      self.runs = true;
      ++clients[self.client].n_running;
      if (++n_running == n_short) full.notify_one();
      lock.unlock();
      job();
      job = nullptr;  // releases its contents without the lock
      lock.lock();
      self.runs = false;
      end_job(self);
    }
    self.has_ended = true;
    full.notify_one();
  }

  void end_job(Worker& self) {
    const auto of = clients.find(self.client);
    --(self.is_long ? n_long : n_running);
    --(self.is_long ? of->second.n_long : of->second.n_running);
    forget_if_idle(of);
    // Other jobs may have waited for this.
    if (self.is_long) wake.notify_all();
  }

  void add_due_timers() {
    const auto due = timers.begin();
    if (due == timers.end() || due->first.first > Clock::now()) return;
    times.erase(due->first.second);
    ready.push_back({std::move(due->second), ""});
    timers.erase(due);
  }

  // Jobs of requests that were taken go first; then clients take turns.
  Job next_job(Worker& self) {
    self.client.clear();
    Job job;
    // While no thread can be replaced, only clients without long jobs get one.
    const auto may_run = [&](const std::string& name) {
      const auto at = clients.find(name);
      if (name.empty() || at == clients.end()) return true;
      const Client& c = at->second;
      return n_long < kMaxLong ? c.n_long < kMaxLong / 2 : c.n_long == 0 && c.n_running == 0;
    };
    const auto next = std::ranges::find_if(ready, may_run, &Ready::client);
    if (next != ready.end()) {
      job = std::move(next->job);
      self.client = std::move(next->client);
      ready.erase(next);
      return job;
    }
    const auto turn = std::ranges::find_if(turns, may_run);
    if (turn == turns.end()) return job;
    self.client = *turn;
    turns.erase(turn);
    Client& client = clients.at(self.client);
    job = std::move(client.jobs.front());
    client.jobs.pop_front();
    --n_fresh;
    if (!client.jobs.empty())
      turns.push_back(self.client);
    else
      forget_if_idle(clients.find(self.client));
    return job;
  }

  void forget_if_idle(std::map<std::string, Client>::iterator client) {
    const Client& c = client->second;
    if (c.jobs.empty() && c.n_running == 0 && c.n_long == 0) clients.erase(client);
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

  // Replaces threads whose jobs are long, while all of them are busy.
  void watch() {
    std::unique_lock lock(mutex);
    while (!stop) {
      if (join_ended(lock)) continue;  // what the loop looks at may have changed
      if (n_running < n_short || n_long >= kMaxLong) {
        full.wait(lock);
        continue;
      }
      Worker* const oldest = oldest_short();
      if (oldest->began + long_after > Clock::now()) {
        full.wait_until(lock, oldest->began + long_after);
        continue;
      }
      try {
        add_worker();
      } catch (const std::exception&) {  // no more threads now: jobs wait for this one
        full.wait_for(lock, std::chrono::seconds(1));
        continue;
      }
      make_long(*oldest);
    }
  }

  Worker* oldest_short() {
    Worker* oldest = nullptr;
    for (Worker& w : workers)
      if (w.runs && !w.is_long && (!oldest || w.began < oldest->began)) oldest = &w;
    return oldest;
  }

  void make_long(Worker& worker) {
    worker.is_long = true;
    --n_running;
    --n_short;
    ++n_long;
    Client& client = clients.at(worker.client);
    --client.n_running;
    ++client.n_long;
    const int nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(worker.id));
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(worker.id), nice + kNicer);
  }

  // Returns whether it gave the lock away.
  bool join_ended(std::unique_lock<std::mutex>& lock) {
    std::list<Worker> ended;
    for (auto w = workers.begin(); w != workers.end();) {
      const auto next = std::next(w);
      if (w->has_ended) ended.splice(ended.end(), workers, w);
      w = next;
    }
    if (ended.empty()) return false;
    lock.unlock();  // their threads may still have to release it
    for (Worker& worker : ended) worker.thread.join();
    lock.lock();
    return true;
  }

  // The release of a job's contents may post further jobs, which are dropped.
  void drop_all() {
    std::deque<Ready> dropped_ready;
    std::map<std::string, Client> dropped_fresh;
    std::map<std::pair<Clock::time_point, TimerId>, Job> dropped_timers;
    const std::lock_guard lock(mutex);
    dropped_ready.swap(ready);
    dropped_fresh.swap(clients);
    dropped_timers.swap(timers);
    turns.clear();
    times.clear();
    n_fresh = 0;
  }

  const std::size_t max_new;
  const Clock::duration long_after;
  mutable std::mutex mutex;
  std::condition_variable wake, full;
  std::deque<Ready> ready;
  std::map<std::string, Client> clients;  // with new jobs that wait, or long ones
  std::deque<std::string> turns;          // clients with jobs that wait, each once
  std::size_t n_fresh = 0;
  std::map<std::pair<Clock::time_point, TimerId>, Job> timers;
  std::map<TimerId, Clock::time_point> times;  // due times of timers
  TimerId next_timer = 1;
  int n_idle = 0;
  int n_short = 0, n_running = 0;  // threads without a long job, and those of them that run a job
  int n_long = 0;
  bool stop = false;
  std::list<Worker> workers;
  std::thread watcher;
};

Workers::Workers(int n_threads, std::size_t max_new, Clock::duration long_after)
    : impl_(std::make_unique<Impl>(n_threads, max_new, long_after)) {}

Workers::~Workers() {
  stop();
}

void Workers::stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stop = true;
  }
  impl_->wake.notify_all();
  impl_->full.notify_all();
  if (impl_->watcher.joinable()) impl_->watcher.join();
  for (Impl::Worker& worker : impl_->workers) worker.thread.join();
  impl_->workers.clear();
  impl_->drop_all();
}

bool Workers::post_new(Job job, const std::string& client) {
  {
    const std::lock_guard lock(impl_->mutex);
    const auto known = impl_->clients.find(client);
    const std::size_t n_own = known == impl_->clients.end() ? 0 : known->second.jobs.size();
    if (impl_->stop || n_own >= std::max<std::size_t>(1, impl_->max_new / 2)) return false;
    if (n_own > 0 && impl_->n_fresh >= impl_->max_new) return false;
    Impl::Client& of = impl_->clients[client];
    if (of.jobs.empty()) impl_->turns.push_back(client);
    of.jobs.push_back(std::move(job));
    ++impl_->n_fresh;
    if (impl_->n_idle == 0) return true;  // busy threads look again
  }
  impl_->wake.notify_one();
  return true;
}

void Workers::post(Job job, const std::string& client) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->stop) return;
    impl_->ready.push_back({std::move(job), client});
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
  return impl_->ready.size() + impl_->n_fresh;
}

}  // namespace weft::api
