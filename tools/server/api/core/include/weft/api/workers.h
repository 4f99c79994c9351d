#pragma once
// The preparing threads: parse, render, tokenize, compile grammars and format answers, so that
// neither the I/O thread nor an engine's thread does. Also calls functions at given times.
//
// Long work makes neither short work nor other clients wait: clients take turns, and a job that has
// run for a while continues with a lower priority beside another thread that takes its place. At
// most 8 long jobs run at a time, and 4 of one client, whose other jobs then wait, also those of
// post(). While 8 run, only clients without long jobs start one, each one at a time.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "weft/base/clock.h"

namespace weft::api {

// Threads: all functions may be called from any thread. Jobs must not throw.
class Workers {
 public:
  using Job = std::function<void()>;

  // `long_after`: how long a job runs until another thread takes its place.
  explicit Workers(int n_threads = 2, std::size_t max_new = 256,
                   Clock::duration long_after = std::chrono::milliseconds(50));
  // Like stop().
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Waits for running jobs. Waiting jobs, timers, and jobs that are posted later, are dropped. Not
  // from a job; from one thread.
  void stop();

  // For requests that just came from a client, whose jobs start in order. Returns false, and drops
  // the job, if half of `max_new` jobs of this client wait, or one of this client and `max_new` of
  // all, or after stop().
  bool post_new(Job job, const std::string& client = {});
  // For work of requests that were taken, which goes first. `client`: whose long jobs it counts
  // among; empty: nobody's, for what never takes long.
  void post(Job job, const std::string& client = {});

  // Calls `job` on a thread of the workers at that time or later, unless cancel() comes before.
  using TimerId = std::uint64_t;
  TimerId at(Clock::time_point time, Job job);
  void cancel(TimerId id);

  std::size_t n_waiting() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::api
