// Random lives of sequences, checked against their texts: every cell that a token may look at is
// the one that was written for it, nothing leaks, and refused calls change nothing.
#include "weft/backends/memory.h"

#include <optional>
#include <random>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/attention/cache_cells.h"

#include "memory/block_pool.h"
#include "memory/session_memory.h"

namespace weft {
namespace {

using namespace run;

constexpr std::int64_t kContext = 640, kStepTokens = 150, kWindow = 100, kStride = 3;
constexpr std::int32_t kSequences = 4, kKept = 3;

using Text = std::vector<std::int32_t>;

// The value of a state of fixed size after these tokens: small enough for an exact float.
float summed_up(const Text& text, std::size_t n) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < n; ++i)
    sum = (sum * 31 + static_cast<std::uint32_t>(text[i]) + 7) % 1000003;
  return static_cast<float>(sum);
}
float follows(float before, std::int32_t token) {
  return static_cast<float>(
      (static_cast<std::uint32_t>(before) * 31 + static_cast<std::uint32_t>(token) + 7) % 1000003);
}

// Memory of all kinds, with a state of one float per cell or row in each part.
class Lives {
 public:
  explicit Lives(std::int64_t cells, std::uint32_t seed, std::int64_t kept_tokens = 0)
      : random_(seed), n_all_(kSequences + (kept_tokens > 0 ? kKept : 0)), texts_(index(n_all_)) {
    const std::int64_t n_kept = n_all_ - kSequences;
    Graph graph;
    const Tensor pos = graph.input("pos", {i32, {1}});
    const Tensor x = graph.input("x", {f32, {1, 1, 1}}), row = graph.input("row", {f32, {1, 1}});
    const arch::Memory asked(graph, pos,
                             {.sequences = kSequences,
                              .context = kContext,
                              .cells = cells,
                              .step_tokens = kStepTokens,
                              .cache_k = f32,
                              .cache_v = f32,
                              .kept = n_kept,
                              .kept_tokens = kept_tokens});
    asked.attend_latent(0, x, x, {});
    const Graph::Scope scope(graph, "next");  // names of nodes are unique
    asked.window(kWindow).attend_latent(1, x, x, {});
    asked.recurrent("r", {1}).scan(row, row);
    asked.every(kStride).keep_latent(2, x);
    asked.keep_fixed(3, x);
    std::vector<std::unique_ptr<SequenceMemory>> parts;
    for (const arch::MemoryPart& part : asked.parts()) {
      const TensorSpec spec = graph[graph.find(part.states.front())].spec;
      states_.emplace_back(spec.bytes());
      parts.push_back(make_memory(
          part, {kSequences, kContext, n_kept},
          StateStore(
              {{.path = part.states.front(), .spec = spec, .host = states_.back().data()}})));
      parts_.push_back(parts.back().get());
      empty_.push_back(parts_.back()->room());
    }
    memory_.emplace(MemoryLimits{kSequences, kContext, n_kept}, kStepTokens, std::move(parts));
    for (const std::string& name : memory_->input_names()) {
      const Shape& shape = graph[graph.find(name)].spec.shape;
      const std::int64_t n = shape.n_dims() == 2 ? shape.elems() : kStepTokens;
      inputs_.emplace_back(static_cast<std::size_t>(n));
    }
  }

  void live(int n_rounds) {
    for (int i = 0; i < n_rounds; ++i) {
      switch (below(10)) {
        case 0:
          truncate();
          break;
        case 8:
          memory_->mark(some_growing(), below(kContext));
          break;
        case 9:
          if (below(4) == 0) memory_->thin(some_sequence());
          break;
        case 1:
          copy();
          break;
        case 2:
          restore();
          break;
        default:
          step(some_tokens(), below(8) == 0);
      }
      for (std::int32_t s = 0; s < n_all_; ++s)
        REQUIRE(memory_->length(s) == std::ssize(texts_[index(s)]));
    }
    for (std::int32_t s = 0; s < n_all_; ++s) memory_->truncate(s, 0);
    for (std::size_t i = 0; i < parts_.size(); ++i) CHECK(parts_[i]->room() == empty_[i]);
  }
  // All sequences at once, until their contexts are full.
  void grow_together(std::int64_t each) {
    for (std::int64_t left = kContext; left > 0; left -= each) {
      std::vector<Token> tokens;
      for (std::int64_t i = 0; i < std::min(each, left); ++i) {
        for (std::int32_t s = 0; s < kSequences; ++s)
          tokens.push_back({s, static_cast<std::int32_t>(below(50))});
      }
      step(tokens);
    }
    for (std::int32_t s = 0; s < kSequences; ++s) REQUIRE(memory_->length(s) == kContext);
  }
  int n_refused() const { return n_refused_; }
  int n_earlier() const { return n_earlier_; }

 private:
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(n));
  }
  std::int32_t some_sequence() { return static_cast<std::int32_t>(below(n_all_)); }
  std::int32_t some_growing() { return static_cast<std::int32_t>(below(kSequences)); }
  float& state(std::size_t part, std::int64_t i) {
    return reinterpret_cast<float*>(states_[part].data())[i];
  }
  std::int64_t room_left(std::int32_t s) const { return kContext - memory_->length(s); }

  struct Token {
    std::int32_t sequence, token;
  };
  std::vector<Token> some_tokens();
  void step(const std::vector<Token>& tokens, bool fails = false);
  void compute(const std::vector<Token>& tokens, std::vector<Text>& after);
  float look(std::size_t part, std::size_t i, std::int64_t position);
  float look_at_stride(std::size_t i, std::int64_t cell);
  void truncate();
  void copy();
  void refuses_more_rows(std::int32_t to, std::int64_t saved, std::vector<SavedState> states);
  void restore();

  std::mt19937 random_;
  std::int32_t n_all_;
  std::vector<Buffer> states_;
  std::vector<SequenceMemory*> parts_;
  std::vector<std::string> empty_;  // room() of parts in which nothing is
  std::optional<SessionMemory> memory_;
  std::vector<std::vector<std::int32_t>> inputs_;
  std::vector<Text> texts_;
  int n_refused_ = 0;  // steps and restored sequences that did not fit
  int n_earlier_ = 0;  // lengths that were no resume points
};

std::vector<Lives::Token> Lives::some_tokens() {
  std::vector<Token> tokens;
  std::vector<std::int64_t> left;
  for (std::int32_t s = 0; s < kSequences; ++s) left.push_back(room_left(s));
  const std::int64_t n = below(3) == 0 ? 1 + below(kStepTokens) : 1 + below(4);
  const bool mixed = below(2) == 0;
  std::int32_t s = some_growing();
  for (std::int64_t i = 0; i < n; ++i) {
    if (mixed) s = some_growing();
    if (left[index(s)]-- > 0) tokens.push_back({s, static_cast<std::int32_t>(below(50))});
  }
  return tokens;
}

// The value of a position that token i of the step may look at.
float Lives::look(std::size_t part, std::size_t i, std::int64_t position) {
  const std::int64_t row = inputs_[0][i] * blocks_for(kContext);
  const std::int32_t block = inputs_[1 + 3 * part][index(row + position / kCellsPerBlock)];
  return state(part, block * kCellsPerBlock + position % kCellsPerBlock);
}

// The same for a cell of kStride positions.
float Lives::look_at_stride(std::size_t i, std::int64_t cell) {
  const std::int64_t row = inputs_[0][i] * blocks_for((kContext + kStride - 1) / kStride);
  const std::int32_t block = inputs_[10][index(row + cell / kCellsPerBlock)];
  return state(3, block * kCellsPerBlock + cell % kCellsPerBlock);
}

// Does the work of the ops of a step, and checks that they find the right states.
void Lives::compute(const std::vector<Token>& tokens, std::vector<Text>& after) {
  for (const std::size_t part : {0, 1}) {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      state(part, inputs_[2 + 3 * part][i]) = static_cast<float>(tokens[i].token);
  }
  std::vector<float> sums;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Text& text = after[index(tokens[i].sequence)];
    text.push_back(tokens[i].token);
    const std::int64_t position = memory_->step()[i].position;
    REQUIRE(position + 1 == std::ssize(text));
    for (const std::size_t part : {0, 1}) {
      const std::int64_t first = inputs_[3 + 3 * part][i];
      REQUIRE(first == (part == 0 ? 0 : std::max<std::int64_t>(0, position - kWindow + 1)));
      for (std::int64_t s = first; s <= position; ++s)
        REQUIRE(look(part, i, s) == static_cast<float>(text[index(s)]));
    }
    REQUIRE((inputs_[11][i] >= 0) == ((position + 1) % kStride == 0));
    if (inputs_[11][i] >= 0) state(3, inputs_[11][i]) = static_cast<float>(tokens[i].token);
    REQUIRE(inputs_[12][i] == 0);
    REQUIRE(inputs_[13][i] == (position + 1) / kStride - 1);
    for (std::int64_t s = 0; s <= inputs_[13][i]; ++s)
      REQUIRE(look_at_stride(i, s) == static_cast<float>(text[index((s + 1) * kStride - 1)]));
    const std::int32_t from = inputs_[7][i], before = inputs_[8][i];
    const float start = before >= 0 ? sums[index(before)] : from >= 0 ? state(2, from) : 0;
    REQUIRE(start == summed_up(text, text.size() - 1));
    sums.push_back(follows(start, tokens[i].token));
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {  // written when all have read
    if (inputs_[9][i] >= 0) state(2, inputs_[9][i]) = sums[i];
  }
}

void Lives::step(const std::vector<Token>& tokens, bool fails) {
  if (tokens.empty()) return;
  for (auto& input : inputs_) std::ranges::fill(input, -1000000);
  try {
    memory_->begin(tokens);
  } catch (const BudgetError&) {
    ++n_refused_;
    return;
  }
  std::vector<InputValues> inputs(inputs_.begin(), inputs_.end());
  memory_->write_inputs(inputs);
  std::vector<Text> after = texts_;
  compute(tokens, after);
  if (fails) return memory_->rollback();
  memory_->append();
  texts_ = after;
}

void Lives::truncate() {
  const std::int32_t s = some_sequence();
  const std::int64_t length = memory_->length(s), n = below(length + 1);
  const std::int64_t point = memory_->resume_point(s, n);
  REQUIRE(point <= n);
  n_earlier_ += point != n;
  REQUIRE(memory_->resume_point(s, length) == length);
  memory_->truncate(s, point);
  texts_[index(s)].resize(index(point));
}

void Lives::copy() {
  const std::int32_t from = some_sequence(), to = some_sequence();
  const std::int64_t n = memory_->resume_point(from, below(memory_->length(from) + 1));
  const std::int64_t kept = below(2) == 0 ? n : memory_->length(from);
  if (from == to)
    memory_->truncate(to, kept);
  else
    memory_->copy(from, to, kept);
  const std::int64_t length = memory_->length(to);
  texts_[index(to)] = Text(texts_[index(from)].begin(),
                           texts_[index(from)].begin() + static_cast<std::ptrdiff_t>(length));
}

// Rows that no sequence of this length has would move all others.
void Lives::refuses_more_rows(std::int32_t to, std::int64_t saved, std::vector<SavedState> states) {
  for (SavedState& state : states) {
    if (state.n_bytes() == 0) continue;
    const auto piece = state.pieces.front();
    state.pieces.assign(64, piece);
    REQUIRE_THROWS_AS(
        memory_->check_saved(to, saved, std::vector<std::int32_t>(index(saved)), states),
        FormatError);
    return;
  }
}

void Lives::restore() {
  const std::int32_t from = some_sequence(), to = some_sequence();
  const std::int64_t saved = memory_->length(from);
  std::vector<std::vector<std::byte>> bytes(memory_->n_states());
  std::vector<SavedState> states;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    memory_->save(from, i, {.end = saved}, [&](std::span<const std::byte> piece) {
      bytes[i].insert(bytes[i].end(), piece.begin(), piece.end());
    });
    const SavedShape shape = memory_->saved_shape(from, i, {.end = saved});
    REQUIRE(std::ssize(bytes[i]) == shape.n_bytes);
    states.push_back({{bytes[i]}, shape.lengths});
  }
  const std::int64_t n = memory_->resume_point_of_saved(below(saved + 1), saved, states);
  REQUIRE(memory_->resume_point_of_saved(saved, saved, states) == saved);
  std::vector<std::int64_t> points;
  for (std::int64_t k = 0; k <= saved; ++k) points.push_back(memory_->resume_point(from, k));
  refuses_more_rows(to, saved, states);
  const std::int64_t length = below(2) == 0 ? n : saved;
  const Text text(texts_[index(from)].begin(),
                  texts_[index(from)].begin() + static_cast<std::ptrdiff_t>(length));
  const std::vector<std::int32_t> ids(index(saved));
  try {
    memory_->check_saved(to, length, ids, states);
    memory_->restore(to, length, ids, states);
  } catch (const BudgetError&) {
    ++n_refused_;
    return;
  }
  texts_[index(to)] = text;
  if (length < saved) return;
  if (n_all_ > kSequences) return;
  // It can be truncated as the saved one could, unless others keep too much.
  for (std::int64_t k = 0; k <= saved; ++k)
    REQUIRE(memory_->resume_point(to, k) == points[index(k)]);
}

}  // namespace

TEST_CASE("sequences of all kinds of memory: tokens always find their own cells") {
  for (const std::int64_t cells : {kSequences * kContext, kContext + 320}) {
    int n_refused = 0, n_earlier = 0;
    for (std::uint32_t seed = 1; seed <= 8; ++seed) {
      CAPTURE(seed);
      Lives lives(cells, seed);
      lives.live(400);
      n_refused += lives.n_refused();
      n_earlier += lives.n_earlier();
    }
    CHECK((n_refused > 0) == (cells < kSequences * kContext));
    CHECK(n_earlier > 0);
  }
}

TEST_CASE("sequences that only keep what was copied to them") {
  for (const std::int64_t kept_tokens : {320, 2000}) {
    for (std::uint32_t seed = 1; seed <= 8; ++seed) {
      CAPTURE(seed);
      Lives lives(kContext + 320, seed, kept_tokens);
      lives.live(400);
      CHECK(lives.n_earlier() > 0);
    }
  }
}

TEST_CASE("there are rows for every step of all sequences together") {
  for (const std::int64_t each : {1, 13, 37}) {
    CAPTURE(each);
    Lives(0, 1).grow_together(each);
  }
}

TEST_CASE("free positions are those that one sequence may grow by") {
  Graph graph;
  const arch::Memory asked(graph, graph.input("pos", {i32, {1}}),
                           {.sequences = 1, .context = kContext, .step_tokens = kStepTokens});
  asked.every(kStride).keep_latent(0, graph.input("x", {f32, {1, 1, 1}}));
  arch::MemoryPart part = asked.parts().front();
  part.n_rows = 2;  // 128 cells
  const auto memory =
      make_memory(part, {1, kContext}, StateStore(std::vector<StateStore::State>()));
  CHECK(memory->free_positions() == 2 * kCellsPerBlock * kStride);
  CHECK(memory->has_room({0, 0, memory->free_positions()}));
  CHECK_FALSE(memory->has_room({0, 0, memory->free_positions() + kStride}));
  const Growth growth{0, 0, 10};
  REQUIRE_FALSE(memory->reserve({&growth, 1}));
  CHECK(memory->free_positions() == kCellsPerBlock * kStride);
}

TEST_CASE("a pool counts the owners of blocks, and allocates the lowest free one") {
  BlockPool pool(3);
  CHECK(pool.take() == 0);
  CHECK(pool.take() == 1);
  pool.share(0);
  CHECK(pool.is_shared(0));
  CHECK(pool.take() == 2);
  CHECK(pool.take() == BlockPool::kNone);
  pool.release(0);
  CHECK(pool.n_free() == 0);
  pool.release(1);
  pool.release(0);
  CHECK(pool.n_free() == 2);
  CHECK(pool.take() == 0);
  CHECK(pool.take() == 1);
}

}  // namespace weft
