#pragma once
// Runs a plan with several workers. The stages of a run follow each other. The work of a stage is
// divided into pieces that any worker can claim, so that the run never waits for a worker that was
// not woken yet, or whose core the machine gave to another process. A worker that finds nothing to
// claim waits for the pieces of the others: it spins for some microseconds, then it parks.
//
// Pieces of a stage, in the order in which worker w tries to claim them:
//  - work that is repeated per lane (`with_copies`): its own copies first, those of others last;
//  - `shares` pieces for each lane: its own from first to last, then those of the other lanes from
//    last to first, so that a lane's owner reads its weights in memory order.
// Which worker computes a piece never changes the results.
//
// This file does not depend on oneTBB: threads come from crew_threads.h, or from a test.

#include <atomic>
#include <cstdint>
#include <memory>

#include "machine/replay_job.h"

namespace weft::scheduler {

class Crew {
 public:
  explicit Crew(int workers);
  ~Crew();  // REQUIRES: no call of serve() is active
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Runs a job. The calling thread is worker 0 and can do all of it alone. Calls `call(w)` for
  // every worker that is away: it should make some thread call serve(w), which may happen late or
  // never. If it throws, the other workers do that worker's part.
  template <class Call>
  void run(ReplayJob& job, Call call) {
    const Word first = begin(job);
    for (int w = 1; w < participants(first); ++w) {
      if (!must_call(w)) continue;
      try {
        call(w);
      } catch (...) {  // the run continues without that worker
        not_called(w);
      }
    }
    finish(first);
  }

  // Worker w takes part in runs until, for a while, no new run begins. Called by one thread at a
  // time per worker, and only after `call(w)`.
  void serve(int w);

  // From now on serve() returns at once.
  void close();

 private:
  struct Seats;
  // All that a worker must know before it has claimed a piece, in one number: the count of stages
  // begun since the crew was created, and the shape of the current stage. See crew.cpp.
  using Word = std::uint64_t;

  Word begin(ReplayJob& job);
  void finish(Word first);
  int participants(Word word) const;
  bool must_call(int w);
  void not_called(int w);
  void take_part(int w, Word word);
  bool claim(int lane, int share, Word word);
  void end_piece(Word word);
  Word await_change(Word word);
  Word stage_word(std::uint64_t count, int stage) const;

  int workers_;
  std::unique_ptr<Seats> seats_;
};

}  // namespace weft::scheduler
