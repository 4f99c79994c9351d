#include "streaming/expert_memory.h"

#include <algorithm>

namespace weft::run {
namespace {

// Experts of steps of so many tokens are guessed; wider ones need most experts anyway.
constexpr std::int64_t kFewTokens = 4;
// Wrong guesses cost reads and take the places of other experts, so guesses must often be right.
constexpr float kMinPrecision = 0.5f;
// After wrong guesses, some are made again from time to time, but not read.
constexpr std::int32_t kStepsBetweenTrials = 16;

}  // namespace

// A weight of a group. Its rows are the matrices of the experts.
class ExpertMemory::Weight final : public PagedRows {
 public:
  Weight(ExpertMemory& memory, Group& group, const WeightFiles::Location& all, std::size_t piece)
      : memory_(memory), group_(group), all_(all), piece_(piece) {}

  const std::byte* find(std::int64_t r) noexcept override {
    const Fill& fill = fill_of(r);
    return fill.ready.load(std::memory_order_acquire) ? fill.pieces[piece_].data() : nullptr;
  }
  const std::byte* wait(std::int64_t r) noexcept override;

  std::int64_t matrix_bytes() const;
  // Where the matrix of an expert is in the file.
  FilePiece piece(std::int64_t expert, std::byte* place) const {
    const std::int64_t bytes = matrix_bytes();
    return {.file = all_.file,
            .offset = all_.offset + static_cast<std::uint64_t>(expert * bytes),
            .bytes = bytes,
            .place = place};
  }

 private:
  const Fill& fill_of(std::int64_t r) const;

  ExpertMemory& memory_;
  Group& group_;
  const WeightFiles::Location all_;  // the matrices of all experts
  std::size_t piece_;                // its index in a fill
};

struct ExpertMemory::Group {
  Group(std::int64_t n_experts, std::int64_t first_id, std::int64_t max_tokens)
      : first(first_id),
        slot_of(static_cast<std::size_t>(n_experts)),
        counts(static_cast<std::size_t>(n_experts)),
        counted(static_cast<std::size_t>(max_tokens)) {
    in_use.reserve(slot_of.size());
    guessed.reserve(slot_of.size());
  }
  const std::int64_t first;  // the id of the first expert
  std::vector<std::unique_ptr<Weight>> weights;
  std::vector<std::atomic<std::int32_t>> slot_of;  // by expert; valid for those in use
  std::vector<std::int32_t> in_use;                // slots that the step holds
  std::vector<std::int32_t> counts;                // choices in this step, by expert
  std::vector<std::uint8_t> counted;               // by row: whether its choices were counted
  std::int64_t n_counted = 0;                      // rows
  std::atomic<bool> all_counted{false};
  std::size_t slots = 0;  // index of the SlotClass
  std::int64_t hits = 0, misses = 0;
  std::vector<std::int32_t> guessed;  // missing experts, for the step in progress
  std::int64_t guesses = 0, right_guesses = 0;
  float precision = 1;  // the part of the last guesses that was right
  std::int32_t steps_without_guesses = 0;
  std::atomic<std::int64_t> wait_ns{0};
};

const Fill& ExpertMemory::Weight::fill_of(std::int64_t r) const {
  const auto& slot = group_.slot_of[static_cast<std::size_t>(r)];
  return *memory_.fills_[static_cast<std::size_t>(slot.load(std::memory_order_acquire))];
}

std::int64_t ExpertMemory::Weight::matrix_bytes() const {
  return all_.bytes / std::ssize(group_.slot_of);
}

const std::byte* ExpertMemory::Weight::wait(std::int64_t r) noexcept {
  const Fill& fill = fill_of(r);
  const bool is_there = memory_.queue_.wait(fill, memory_.ends_, group_.wait_ns);
  if (is_there) return fill.pieces[piece_].data();
  memory_.cut_short_.store(true, std::memory_order_release);
  return nullptr;
}

ExpertMemory::ExpertMemory(const WeightFiles& files, const Residency& residency, ReadQueue& queue,
                           const RunEnds& ends, ExpertGuesses guesses)
    : queue_(queue), ends_(ends), cache_(residency), guesses_(std::move(guesses)) {
  for (const ExpertGroup& g : residency.groups) {
    auto group = std::make_unique<Group>(g.n_experts, g.first, g.max_tokens);
    for (const std::string& path : g.paths) {
      group->weights.push_back(
          std::make_unique<Weight>(*this, *group, files.at(path), group->weights.size()));
    }
    missing_.reserve(std::max(missing_.capacity(), static_cast<std::size_t>(g.n_experts)));
    taken_.reserve(missing_.capacity());
    chosen_.reserve(missing_.capacity());
    held_.reserve(std::max(held_.capacity(), static_cast<std::size_t>(kFewTokens * g.n_chosen)));
    guessed_.reserve(
        std::max(guessed_.capacity(), static_cast<std::size_t>(kFewTokens * g.n_chosen)));
    group->slots = static_cast<std::size_t>(g.slots);
    groups_.push_back(std::move(group));
  }
  std::size_t max_weights = 0;
  for (const ExpertGroup& g : residency.groups) max_weights = std::max(max_weights, g.paths.size());
  for (const SlotClass& slots : residency.slots) {
    memory_.emplace_back(slots.n_slots * slots.slot_bytes);
    room_ahead_.push_back(slots.n_slots - slots.min_slots);
    for (std::int64_t i = 0; i < slots.n_slots; ++i) {
      fills_.push_back(std::make_unique<Fill>());
      fills_.back()->pieces.reserve(max_weights);
      places_.push_back(memory_.back().data() + i * slots.slot_bytes);
    }
  }
  ahead_.reserve(fills_.size());
}

ExpertMemory::~ExpertMemory() = default;

std::int64_t ExpertMemory::bytes() const {
  std::int64_t sum = guesses_.copied_bytes();
  for (const Buffer& memory : memory_) sum += memory.size();
  return sum;
}

PagedRows* ExpertMemory::paged(std::size_t group, std::size_t weight) const {
  return groups_[group]->weights[weight].get();
}

void ExpertMemory::acquire(std::size_t group, const View& x, const View& ids, std::int64_t row0,
                           std::int64_t row1) noexcept {
  Group& g = *groups_[group];
  if (g.all_counted.load(std::memory_order_acquire)) return;
  std::unique_lock lock(mutex_);
  if (g.all_counted.load(std::memory_order_relaxed)) return;  // by another lane meanwhile
  end_ahead(false);
  count(g, ids, row0, row1);
  missing_.clear();
  for (const std::int32_t expert : chosen_) {
    const std::int32_t slot = cache_.slot_of(group, expert);
    const bool is_there = slot != kNoSlot && fills_[static_cast<std::size_t>(slot)]->ready.load(
                                                 std::memory_order_acquire);
    ++(is_there ? g.hits : g.misses);
    slot == kNoSlot ? missing_.push_back(expert) : use(g, slot);
  }
  taken_.clear();
  cache_.take(group, missing_, {.group = group, .n_tokens = ids.rows()}, taken_);
  for (const std::int32_t slot : taken_) {
    use(g, slot);
    read(slot, true);
  }
  // SlotClass::min_slots ensures that all get a slot. Should one not, the run must not go on.
  if (taken_.size() < missing_.size()) cut_short_.store(true, std::memory_order_release);
  if (g.n_counted < ids.rows()) return;
  g.all_counted.store(true, std::memory_order_release);
  check_guesses(g);
  if (ids.rows() > kFewTokens) return read_ahead(group, ids.rows());
  lock.unlock();
  read_guesses(group, x);
}

void ExpertMemory::check_guesses(Group& g) noexcept {
  constexpr float kSmoothing = 1.0f / 32;
  for (const std::int32_t e : g.guessed) {
    const bool is_right = g.counts[static_cast<std::size_t>(e)] > 0;
    ++g.guesses;
    g.right_guesses += is_right;
    g.precision += kSmoothing * ((is_right ? 1.0f : 0.0f) - g.precision);
  }
  g.guessed.clear();
}

void ExpertMemory::read_guesses(std::size_t group, const View& x) noexcept {
  const std::size_t next = group + 1;  // the first group's input is that of another token
  if (next >= groups_.size() || !guesses_.has(next)) return;
  // One thread at a time is here: the one that counted the last row.
  Group& g = *groups_[next];
  const bool reads = g.precision >= kMinPrecision;
  if (!reads && ++g.steps_without_guesses % kStepsBetweenTrials != 0) return;
  guessed_.clear();
  for (std::int64_t r = 0; r < x.rows(); ++r) guesses_.add(next, x, r, guessed_);
  std::ranges::sort(guessed_);
  guessed_.erase(std::ranges::unique(guessed_).begin(), guessed_.end());
  const std::lock_guard lock(mutex_);
  missing_.clear();
  for (const std::int32_t e : guessed_)
    if (cache_.slot_of(next, e) == kNoSlot) missing_.push_back(e);
  g.guessed.assign(missing_.begin(), missing_.end());
  if (!reads) return;
  const auto room = static_cast<std::size_t>(std::max<std::int64_t>(0, room_ahead_[g.slots]));
  missing_.resize(std::min(missing_.size(), room));
  // Guessed experts that are in memory must not make room for the others.
  for (const std::int32_t e : guessed_)
    if (const std::int32_t slot = cache_.slot_of(next, e); slot != kNoSlot) held_.push_back(slot);
  for (const std::int32_t slot : held_) cache_.hold(slot);
  take_ahead(next, {.group = group, .n_tokens = x.rows(), .certain = true});
  for (const std::int32_t slot : held_) cache_.release(slot);
  held_.clear();
}

void ExpertMemory::read_ahead(std::size_t group, std::int64_t n_tokens) noexcept {
  // The expected number of choices from which an expert is read: 86 % of steps then choose it.
  constexpr float kProbably = 2;
  const std::size_t next = (group + 1) % groups_.size();
  if (next == group) return;
  const Group& g = *groups_[next];
  const std::int64_t room = room_ahead_[g.slots];
  missing_.clear();
  for (std::int64_t e = 0; e < std::ssize(g.counts) && std::ssize(missing_) < room; ++e) {
    const float p = cache_.frequency(next, e) * static_cast<float>(n_tokens);
    if (p >= kProbably && cache_.slot_of(next, e) == kNoSlot)
      missing_.push_back(static_cast<std::int32_t>(e));
  }
  take_ahead(next, {.group = group, .n_tokens = n_tokens});
}

// Starts reading the experts in missing_, after those that are needed now.
void ExpertMemory::take_ahead(std::size_t group, ExpertCache::Now now) noexcept {
  taken_.clear();
  cache_.take(group, missing_, now, taken_);
  for (const std::int32_t slot : taken_) {
    cache_.hold(slot);
    ahead_.push_back(slot);
    --room_ahead_[groups_[group]->slots];
    read(slot, false);
  }
}

void ExpertMemory::warm_up(const ExpertUsage& usage) {
  const std::lock_guard lock(mutex_);
  std::vector<std::vector<float>> by_class(room_ahead_.size());
  for (std::size_t g = 0; g < usage.size(); ++g) {
    std::vector<float>& all = by_class[groups_[g]->slots];
    all.insert(all.end(), usage[g].begin(), usage[g].end());
    for (std::size_t e = 0; e < usage[g].size(); ++e)
      cache_.set_frequency(g, static_cast<std::int64_t>(e), usage[g][e]);
  }
  std::vector<float> least(by_class.size());  // experts with a higher frequency are read
  for (std::size_t c = 0; c < by_class.size(); ++c) {
    const auto n = static_cast<std::size_t>(room_ahead_[c]);
    std::ranges::sort(by_class[c], std::greater());
    least[c] = n < by_class[c].size() ? by_class[c][n] : 0;
  }
  for (std::size_t g = 0; g < usage.size(); ++g) {
    missing_.clear();
    const std::size_t c = groups_[g]->slots;
    for (std::size_t e = 0; e < usage[g].size(); ++e)
      if (usage[g][e] > least[c] && std::ssize(missing_) < room_ahead_[c])
        missing_.push_back(static_cast<std::int32_t>(e));
    take_ahead(g, {.group = g});
  }
}

ExpertUsage ExpertMemory::usage() const {
  const std::lock_guard lock(mutex_);
  ExpertUsage usage;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    std::vector<float>& group = usage.emplace_back();
    for (std::int64_t e = 0; e < std::ssize(groups_[g]->counts); ++e)
      group.push_back(cache_.frequency(g, e));
  }
  return usage;
}

void ExpertMemory::end_ahead(bool all) noexcept {
  std::erase_if(ahead_, [&](std::int32_t slot) {
    if (!all && !fills_[static_cast<std::size_t>(slot)]->ready.load(std::memory_order_acquire))
      return false;
    cache_.release(slot);
    const auto group = static_cast<std::size_t>(cache_.owner(slot).group);
    ++room_ahead_[groups_[group]->slots];
    return true;
  });
}

void ExpertMemory::count(Group& g, const View& ids, std::int64_t row0, std::int64_t row1) noexcept {
  chosen_.clear();
  for (std::int64_t t = row0; t < row1; ++t) {
    std::uint8_t& counted = g.counted[static_cast<std::size_t>(t)];
    if (counted) continue;
    counted = true;
    ++g.n_counted;
    const std::int32_t* ids_of_row = ids.row<const std::int32_t>(t);
    for (std::int64_t k = 0; k < ids.cols(); ++k) {
      const std::int64_t e = ids_of_row[k] - g.first;
      if (e < 0 || e >= std::ssize(g.counts)) continue;
      if (g.counts[static_cast<std::size_t>(e)]++ == 0)
        chosen_.push_back(static_cast<std::int32_t>(e));
    }
  }
}

void ExpertMemory::use(Group& g, std::int32_t slot) noexcept {
  cache_.hold(slot);
  g.in_use.push_back(slot);
  const auto expert = static_cast<std::size_t>(cache_.owner(slot).expert);
  g.slot_of[expert].store(slot, std::memory_order_release);
  Fill& fill = *fills_[static_cast<std::size_t>(slot)];
  if (!fill.ready.load(std::memory_order_acquire)) queue_.hurry(fill);
}

void ExpertMemory::read(std::int32_t slot, bool urgent) noexcept {
  const ExpertCache::Owner owner = cache_.owner(slot);
  const auto& weights = groups_[static_cast<std::size_t>(owner.group)]->weights;
  Fill& fill = *fills_[static_cast<std::size_t>(slot)];
  std::byte* place = places_[static_cast<std::size_t>(slot)];
  fill.ready.store(false, std::memory_order_relaxed);
  fill.pieces.resize(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    fill.pieces[i] = weights[i]->piece(owner.expert, place);
    place += FilePiece::max_place_bytes(weights[i]->matrix_bytes());
  }
  fill.urgent = urgent;
  queue_.start(fill);
}

void ExpertMemory::release(std::size_t group) noexcept {
  const std::lock_guard lock(mutex_);
  Group& g = *groups_[group];
  for (const std::int32_t slot : g.in_use) cache_.release(slot);
  g.in_use.clear();
  if (g.n_counted > 0) cache_.count(group, g.counts, g.n_counted);
  std::ranges::fill(g.counts, 0);
  std::ranges::fill(g.counted, 0);
  g.n_counted = 0;
  g.all_counted.store(false, std::memory_order_relaxed);
}

void ExpertMemory::add_stats(StreamStats& stats) const {
  const std::lock_guard lock(mutex_);
  for (const auto& g : groups_)
    stats.groups.push_back({.hits = g->hits,
                            .misses = g->misses,
                            .wait_ns = g->wait_ns.load(std::memory_order_relaxed),
                            .guesses = g->guesses,
                            .right_guesses = g->right_guesses});
}

void ExpertMemory::reset() noexcept {
  for (std::size_t g = 0; g < groups_.size(); ++g) release(g);
  const std::lock_guard lock(mutex_);
  for (const auto& group : groups_) group->guessed.clear();
  end_ahead(true);
  for (std::size_t i = 0; i < fills_.size(); ++i) {
    if (!fills_[i]->ready.load(std::memory_order_acquire))
      cache_.vacate(static_cast<std::int32_t>(i));
  }
}

}  // namespace weft::run
