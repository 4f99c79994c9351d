#pragma once
// How the workers go through a plan together. The stages of a run are taken one after the other;
// the work of a stage lies ready in *units* that any worker can claim, so that nobody ever waits
// for a worker that is not there: it was not woken yet, or the machine gives its core to somebody
// else. Whoever has nothing left to claim waits until the units of the others are done: it spins
// for some microseconds, then it parks.
//
// Units of a stage, in the order in which worker w looks for them:
//  - what is repeated per lane (`with_copies`): its own copies first, those of the others last;
//  - `shares` units for each lane: its own from the first on, then those of the other lanes from
//    the last on, so that a lane's owner goes on in the order in which its weights lie in memory.
// Which worker computes a unit never changes what is computed.
//
// This file knows nothing of oneTBB: threads come from crew_threads.h, or from a test.

#include <atomic>
#include <cstdint>
#include <memory>

#include "replay.h"

namespace weft::scheduler {

class Crew {
 public:
  explicit Crew(int workers);
  ~Crew();  // REQUIRES: no serve() goes on
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Runs a job; the calling thread is worker 0 and can do all of it alone. `call(w)` is called for
  // every worker that does not stand by: it has to see to it that some thread calls serve(w), which
  // may happen late or never. If it throws, that worker stays away and the others do its part.
  template <class Call>
  void run(ReplayJob& job, Call call) {
    const Word first = begin(job);
    for (int w = 1; w < participants(first); ++w) {
      if (!must_call(w)) continue;
      try {
        call(w);
      } catch (...) {  // the run goes on: nobody needs that worker
        not_called(w);
      }
    }
    finish(first);
  }

  // The stay of worker w: it takes part in runs, waits for a moment after each, and returns when no
  // other came. Called by one thread at a time per worker, and only after `call(w)`.
  void serve(int w);

  // From now on serve() returns at once.
  void close();

 private:
  struct Seats;
  // One number says all that a worker has to know before it has claimed something: how many stages
  // were begun since the crew exists, and the shape of the present one. See crew.cpp.
  using Word = std::uint64_t;

  Word begin(ReplayJob& job);
  void finish(Word first);
  int participants(Word word) const;
  bool must_call(int w);
  void not_called(int w);
  void take_part(int w, Word word);
  bool claim(int lane, int share, Word word);
  void end_unit(Word word);
  Word await_change(Word word);
  Word stage_word(std::uint64_t count, int stage) const;

  int workers_;
  std::unique_ptr<Seats> seats_;
};

}  // namespace weft::scheduler
