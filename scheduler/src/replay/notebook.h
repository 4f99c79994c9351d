#pragma once
// A job for tests of replays.

#include <atomic>
#include <chrono>
#include <ctime>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "weft/scheduler/pieces.h"

#include "machine/replay_job.h"

namespace weft::test {

inline void sleep_us(int us) {
  std::this_thread::sleep_for(std::chrono::microseconds(us));
}

// Whether the process soon uses no processor time: less than 5 ms in 100 ms, within a minute.
inline bool eventually_idle() {
  for (int i = 0; i < 600; ++i) {
    const std::clock_t before = std::clock();
    sleep_us(100000);
    if (std::clock() - before < CLOCKS_PER_SEC / 200) return true;
  }
  return false;
}

// Random stages. Every piece writes a note to memory that is not atomic, and reads the notes of all
// pieces of the previous stage: a piece that begins too early, or runs twice, is detected here and
// by ThreadSanitizer.
class Notebook final : public scheduler::ReplayJob {
 public:
  Notebook(unsigned seed, int lanes, int n_stages) : lanes_(lanes), random_(seed) {
    for (int i = 0; i < n_stages; ++i) {
      stages_.push_back({.shares = pick(1, 5), .with_copies = pick(0, 2) == 0});
      notes_.emplace_back(static_cast<std::size_t>(lanes * (stages_.back().shares + 1)), 0);
      naps_.push_back(pick(0, 9) == 0 ? pick(1, 200) : 0);
    }
  }
  std::span<const scheduler::ReplayStage> stages() const override { return stages_; }
  int lanes() const override { return lanes_; }
  void share(int stage, int index, int worker) noexcept override {
    if (index % 2 == worker % 2 && naps_[at(stage)] > 0) sleep_us(naps_[at(stage)]);
    note(stage, index);
  }
  void copies(int stage, int lane, int) noexcept override {
    note(stage, lanes_ * stages_[at(stage)].shares + lane);
  }

  // As a plan with these stages would have them.
  std::vector<PieceGroup> pieces() const {
    std::vector<PieceGroup> groups;
    for (int s = 0; s < static_cast<int>(stages_.size()); ++s) {
      PieceGroup copies, shares;
      for (int lane = 0; lane < lanes_; ++lane) {
        if (stages_[at(s)].with_copies)
          copies.push_back({.stage = s, .lane = lane, .copies = true, .steps = {}});
        for (int k = 0; k < stages_[at(s)].shares; ++k)
          shares.push_back({.stage = s, .lane = lane, .share = k, .steps = {}});
      }
      if (!copies.empty()) groups.push_back(std::move(copies));
      groups.push_back(std::move(shares));
    }
    return groups;
  }

  // How many pieces were wrong up to the end of run number `run` (1 and up), and all are done.
  int wrong(int run) const {
    int n = errors_.load();
    for (std::size_t s = 0; s < notes_.size(); ++s) {
      for (int piece = 0; piece < n_pieces(static_cast<int>(s)); ++piece)
        n += notes_[s][at(piece)] != run;
    }
    return n;
  }
  void next_run() { ++run_; }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int pick(int from, int to) { return std::uniform_int_distribution(from, to)(random_); }
  int n_pieces(int stage) const {
    return lanes_ * (stages_[at(stage)].shares + (stages_[at(stage)].with_copies ? 1 : 0));
  }
  void note(int stage, int piece) {
    const std::size_t before = at(stage == 0 ? static_cast<int>(notes_.size()) - 1 : stage - 1);
    const int want = stage == 0 ? run_ - 1 : run_;
    for (int i = 0; i < n_pieces(static_cast<int>(before)); ++i) {
      if (before != at(stage)) errors_ += notes_[before][at(i)] != want;
    }
    errors_ += ++notes_[at(stage)][at(piece)] != run_;
  }

  int lanes_;
  std::mt19937 random_;
  std::vector<scheduler::ReplayStage> stages_;
  std::vector<std::vector<int>> notes_;  // by stage and piece: how often it was done
  std::vector<int> naps_;                // by stage: microseconds that some of its pieces take
  std::atomic<int> errors_{0};
  int run_ = 1;
};

}  // namespace weft::test
