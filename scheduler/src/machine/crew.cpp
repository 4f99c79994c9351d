#include "machine/crew.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "weft/base/processor.h"
#include "weft/scheduler/workers.h"

namespace weft::scheduler {
namespace {

// How long a worker spins before it parks. Parking and waking up take tens of microseconds if a
// virtual machine puts an idle core to sleep. Spinning for about as long costs at most twice as
// much as the best choice would have.
constexpr std::chrono::microseconds kSpin{50};

// Spins until `done()`; false if that took longer than kSpin.
template <class Done>
bool spin_until(Done done) {
  constexpr int kBetweenLooks = 64;  // at the clock
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kBetweenLooks; ++i) {
      if (done()) return true;
      spin_pause();
    }
  } while (std::chrono::steady_clock::now() - start < kSpin);
  return done();
}

// The fields of a word, from the top: number of stages begun since the crew was created (those of
// the jobs, and one without work after each job), lanes, shares per lane (0: no work), whether
// there are copies.
constexpr int kLaneBits = 9, kShareBits = 3;
constexpr int kCountShift = kLaneBits + kShareBits + 1;
constexpr std::uint64_t count_of(std::uint64_t word) {
  return word >> kCountShift;
}
constexpr int lanes_of(std::uint64_t word) {
  return static_cast<int>(word >> (kShareBits + 1)) & ((1 << kLaneBits) - 1);
}
constexpr int shares_of(std::uint64_t word) {
  return static_cast<int>(word >> 1) & ((1 << kShareBits) - 1);
}
constexpr bool has_copies(std::uint64_t word) {
  return (word & 1) != 0;
}
constexpr int n_pieces_of(std::uint64_t word) {
  return lanes_of(word) * (shares_of(word) + (has_copies(word) ? 1 : 0));
}
static_assert(kMaxShares < 1 << kShareBits && kMaxWorkers < 1 << kLaneBits);

}  // namespace

// A claim is the count of the stage for which a piece was last claimed. It is never reset: a stage
// begins when every piece of the previous one is claimed and done, so a late worker with an old
// word finds its count in all claims and claims nothing. A worker may access the job only after it
// has claimed a piece: the run cannot end before that piece is done.
struct Crew::Seats {
  struct alignas(64) Lane {
    std::atomic<std::uint64_t> claims[kMaxShares + 1] = {};  // the last one: the lane's copies
  };
  enum class Place : int { away, called, here };
  struct alignas(64) Worker {
    std::atomic<Place> place{Place::away};
  };

  explicit Seats(int n_workers)
      : lanes(kMaxWorkers), workers(static_cast<std::size_t>(n_workers)) {}

  alignas(64) std::atomic<Word> word{0};
  alignas(64) std::atomic<int> done{0};  // pieces of the present stage
  alignas(64) std::atomic<int> parked{0};
  std::atomic<int> wakeups{0};  // incremented when a stage begins while a worker is parked
  std::atomic<bool> closed{false};
  ReplayJob* job = nullptr;  // written between runs
  std::uint64_t first = 0;   // the count of its stage 0
  std::vector<Lane> lanes;
  std::vector<Worker> workers;

  std::atomic<std::uint64_t>& seat(int lane, int share) {
    return lanes[static_cast<std::size_t>(lane)].claims[share];
  }
};

Crew::Crew(int workers) : workers_(workers), seats_(std::make_unique<Seats>(workers)) {}
Crew::~Crew() = default;

Crew::Word Crew::stage_word(std::uint64_t count, int stage) const {
  const std::span<const ReplayStage> stages = seats_->job->stages();
  if (stage == std::ssize(stages)) return count << kCountShift;
  const ReplayStage& s = stages[static_cast<std::size_t>(stage)];
  return count << kCountShift |
         static_cast<std::uint64_t>(seats_->job->lanes()) << (kShareBits + 1) |
         static_cast<std::uint64_t>(s.shares) << 1 | (s.with_copies ? 1 : 0);
}

int Crew::participants(Word word) const {
  return std::min(workers_, lanes_of(word));
}

Crew::Word Crew::begin(ReplayJob& job) {
  Seats& s = *seats_;
  s.job = &job;
  s.first = count_of(s.word.load(std::memory_order_relaxed)) + 1;
  const Word first = stage_word(s.first, 0);
  s.word.store(first, std::memory_order_seq_cst);
  return first;
}

bool Crew::must_call(int w) {
  Seats::Place away = Seats::Place::away;
  std::atomic<Seats::Place>& place = seats_->workers[static_cast<std::size_t>(w)].place;
  return place.load(std::memory_order_seq_cst) == away &&
         place.compare_exchange_strong(away, Seats::Place::called);
}

void Crew::not_called(int w) {
  seats_->workers[static_cast<std::size_t>(w)].place.store(Seats::Place::away,
                                                           std::memory_order_seq_cst);
}

void Crew::finish(Word first) {
  Word word = first;
  while (lanes_of(word) > 0) {
    take_part(0, word);
    word = await_change(word);
  }
}

bool Crew::claim(int lane, int share, Word word) {
  std::atomic<std::uint64_t>& seat = seats_->seat(lane, share);
  const std::uint64_t count = count_of(word);
  std::uint64_t last = seat.load(std::memory_order_relaxed);
  return last < count && seat.compare_exchange_strong(last, count, std::memory_order_acquire);
}

// Claims one piece after the other of the stage in `word`.
void Crew::take_part(int w, Word word) {
  const int lanes = lanes_of(word), shares = shares_of(word);
  const auto do_share = [&](int lane, int share) {
    if (!claim(lane, share, word)) return;
    seats_->job->share(static_cast<int>(count_of(word) - seats_->first), lane * shares + share, w);
    end_piece(word);
  };
  const auto do_copies = [&](int lane) {
    if (!claim(lane, kMaxShares, word)) return false;
    seats_->job->copies(static_cast<int>(count_of(word) - seats_->first), lane, w);
    end_piece(word);
    return true;
  };
  // If another worker made this worker's copies, there was nothing else left to claim.
  if (has_copies(word) && !do_copies(w)) return;
  for (int share = 0; share < shares; ++share) do_share(w, share);
  for (int i = 1; i < lanes; ++i) {
    for (int share = shares - 1; share >= 0; --share) do_share((w + i) % lanes, share);
  }
  for (int i = 1; has_copies(word) && i < lanes; ++i) do_copies((w + i) % lanes);
}

// The worker that ends the last piece begins the next stage.
void Crew::end_piece(Word word) {
  Seats& s = *seats_;
  if (s.done.fetch_add(1, std::memory_order_acq_rel) + 1 < n_pieces_of(word)) return;
  s.done.store(0, std::memory_order_relaxed);
  const std::uint64_t count = count_of(word);
  s.word.store(stage_word(count + 1, static_cast<int>(count - s.first) + 1),
               std::memory_order_seq_cst);
  if (s.parked.load(std::memory_order_seq_cst) == 0) return;
  s.wakeups.fetch_add(1, std::memory_order_seq_cst);
  s.wakeups.notify_all();
}

// In the total order of seq_cst operations, either the parking worker sees the new word, or the
// writer of the word sees that a worker is parked.
Crew::Word Crew::await_change(Word word) {
  Seats& s = *seats_;
  Word now = word;
  const auto changed = [&] { return (now = s.word.load(std::memory_order_seq_cst)) != word; };
  if (spin_until(changed)) return now;
  s.parked.fetch_add(1, std::memory_order_seq_cst);
  for (;;) {
    const int wakeups = s.wakeups.load(std::memory_order_seq_cst);
    if (changed()) break;
    s.wakeups.wait(wakeups);
  }
  s.parked.fetch_sub(1, std::memory_order_relaxed);
  return now;
}

void Crew::serve(int w) {
  Seats& s = *seats_;
  std::atomic<Seats::Place>& place = s.workers[static_cast<std::size_t>(w)].place;
  place.store(Seats::Place::here, std::memory_order_seq_cst);
  Word word = 0;
  const auto wanted = [&] { return lanes_of(word = s.word.load(std::memory_order_seq_cst)) > w; };
  while (!s.closed.load(std::memory_order_relaxed)) {
    if (spin_until([&] { return wanted() || s.closed.load(std::memory_order_relaxed); })) {
      while (lanes_of(word) > w) {
        take_part(w, word);
        word = await_change(word);
      }
      continue;
    }
    // As in await_change(): either this worker sees the run, or the thread that began it sees that
    // this worker is away, and calls it.
    place.store(Seats::Place::away, std::memory_order_seq_cst);
    Seats::Place away = Seats::Place::away;
    if (!wanted() || !place.compare_exchange_strong(away, Seats::Place::here)) return;
  }
}

void Crew::close() {
  seats_->closed.store(true, std::memory_order_relaxed);
}

}  // namespace weft::scheduler
