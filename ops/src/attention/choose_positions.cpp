#include "weft/ops/attention/choose_positions.h"

#include <algorithm>
#include <functional>

#include "weft/ops/attention/cache_cells.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

constexpr float kNever = -std::numeric_limits<float>::infinity();

void expect_at_least(std::string_view name, std::int32_t value, std::int32_t min) {
  if (value < min) fail<ValueError>("{} must be at least {}, got {}", name, min, value);
}

TensorSpec infer(const Attrs& attrs, Specs in) {
  const TensorSpec &q = in[0], &k = in[1], &table = in[2], &weights = in[6];
  const auto& a = attrs.as<ChoosePositionsAttrs>();
  expect_at_least("k", a.k, 1);
  expect_at_least("span", a.span, 1);
  expect_at_least("always", a.always, 0);
  expect_dtype("q", q, f32);
  expect_form(q.shape.n_dims() == 3, "q", q, "[T, H, E]");
  expect_cache("k", k);
  const std::int64_t heads = q.shape[1].bound, e = q.shape[2].bound;
  const bool k_fits = k.shape[1].bound == 1 && k.shape[3].bound == e;
  expect_form(k_fits, "k", k, "[B, 1, {}, {}]", kCellsPerBlock, e);
  expect_dtype("table", table, i32);
  const bool is_table = table.shape.n_dims() == 2 && !table.shape[0].varies();
  expect_form(is_table, "table", table, "[Q, M]");
  for (const auto& [name, spec] :
       {std::pair{"table_row", in[3]}, {"first", in[4]}, {"last", in[5]}}) {
    expect_dtype(name, spec, i32);
    expect_shape(name, spec, {q.shape[0]});
  }
  if (weights.present()) {
    expect_dtype("weights", weights, f32);
    expect_shape("weights", weights, {q.shape[0], heads});
  }
  const std::int64_t positions = table.shape[1].bound * kCellsPerBlock;
  const std::int64_t spans = (positions + a.span - 1) / a.span;
  return {i32, {q.shape[0], weights.present() ? 1 : heads, std::min<std::int64_t>(a.k, spans)}};
}

// The scores of the positions first .. last of token t for each c: [C][last - first + 1].
class Scores {
 public:
  explicit Scores(Views in) : q_(in[0]), k_(in[1]), in_(in), k_rows_(decode_rows(in[1])) {}

  std::vector<std::vector<float>> of(std::int64_t t) const {
    const std::int64_t heads = q_.dim(1), e = q_.dim(2);
    const float* weights = in_[6] ? in_[6].row<const float>(t) : nullptr;
    std::vector<std::vector<float>> scores(static_cast<std::size_t>(weights ? 1 : heads));
    for (std::int64_t s = at(4, t); s <= at(5, t); ++s) {
      double sum = 0;
      for (std::int64_t h = 0; h < heads; ++h) {
        const double product = dot(q_.row<const float>(t) + h * e, key(t, s));
        if (weights) {
          sum += weights[h] * std::max(product, 0.0);
        } else {
          scores[static_cast<std::size_t>(h)].push_back(comparable(product));
        }
      }
      if (weights) scores[0].push_back(comparable(sum));
    }
    return scores;
  }
  std::int32_t at(std::size_t input, std::int64_t t) const {
    return in_[input].row<const std::int32_t>(0)[t];
  }

 private:
  static float comparable(double score) {
    return std::isnan(score) ? kNever : static_cast<float>(score);
  }
  double dot(const float* q, const float* k) const {
    double sum = 0;
    for (std::int64_t i = 0; i < q_.dim(2); ++i) sum += static_cast<double>(q[i]) * k[i];
    return sum;
  }
  const float* key(std::int64_t t, std::int64_t s) const {
    const std::int32_t block = in_[2].row<const std::int32_t>(at(3, t))[s / kCellsPerBlock];
    const CellPlace place = cell_place(block * kCellsPerBlock + s % kCellsPerBlock, 0, k_.dim(3));
    return k_rows_.data() + place.row * k_.cols() + place.col;
  }

  const View &q_, &k_;
  Views in_;
  std::vector<float> k_rows_;
};

struct Span {
  std::int64_t number;
  float score = kNever;
  std::int64_t priority = 0;  // above 0: always chosen, regardless of its score, the largest first
};

// The spans of the positions from `first` on, in ascending order.
std::vector<Span> spans_of(const std::vector<float>& scores, std::int64_t first,
                           const ChoosePositionsAttrs& a) {
  std::vector<Span> spans;
  for (const float score : scores) {
    const std::int64_t number = first++ / a.span;
    if (spans.empty() || spans.back().number != number) spans.push_back({number});
    spans.back().score = std::max(spans.back().score, score);
  }
  const std::int64_t last = std::ssize(spans) - 1;
  for (std::int64_t i = std::max<std::int64_t>(0, last - a.always + 1); i <= last; ++i)
    spans[static_cast<std::size_t>(i)].priority = i + 1;
  return spans;
}

bool better(const Span& a, const Span& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.score > b.score;
}

// Puts `value` into the heap, the worst at the root, in place of heap[hole]: the hole moves down to
// a leaf along the worse children (of equal ones the right), and `value` up from there.
void put(std::vector<Span>& heap, std::size_t hole, const Span value) {
  const std::size_t root = hole;
  for (std::size_t child = 2 * hole + 2; child <= heap.size(); child = 2 * hole + 2) {
    if (child == heap.size() || better(heap[child], heap[child - 1])) --child;
    heap[hole] = heap[child];
    hole = child;
  }
  for (; hole > root && better(heap[(hole - 1) / 2], value); hole = (hole - 1) / 2)
    heap[hole] = heap[(hole - 1) / 2];
  heap[hole] = value;
}

// The k best spans, in ascending order.
std::vector<Span> best(const std::vector<Span>& spans, std::size_t k) {
  const std::size_t n = std::min(k, spans.size());
  std::vector<Span> heap(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(n));
  for (std::size_t i = n / 2; i-- > 0;) put(heap, i, heap[i]);
  for (std::size_t i = n; i < spans.size(); ++i) {
    if (better(spans[i], heap[0])) put(heap, 0, spans[i]);
  }
  std::ranges::sort(heap, std::ranges::less(), &Span::number);
  return heap;
}

void reference(const Attrs& attrs, Views in, View out) {
  const auto& a = attrs.as<ChoosePositionsAttrs>();
  const Scores scores(in);
  const auto k = static_cast<std::size_t>(out.dim(2));
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    std::int32_t* chosen = out.row<std::int32_t>(t);
    std::fill_n(chosen, out.cols(), -1);
    for (const std::vector<float>& head : scores.of(t)) {
      std::int32_t* next = chosen;
      for (const Span& span : best(spans_of(head, scores.at(4, t), a), k))
        *next++ = static_cast<std::int32_t>(span.number);
      chosen += k;
    }
  }
}

// Assumes that every token sees all cells that a sequence may have.
Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  return moves(in, out, extents, elems_at(in[0], extents) * in[2].shape[1].bound * kCellsPerBlock);
}

constexpr OpInput kInputs[] = {{"q", Reach::row},
                               {"k", Reach::all},
                               {"table", Reach::all},
                               {"table_row", Reach::all},
                               {"first", Reach::all},
                               {"last", Reach::all},
                               {"weights", Reach::row, true}};

}  // namespace

const OpDef kChoosePositions{.name = "choose_positions",
                             .inputs = kInputs,
                             .attrs = &kAttrsType<ChoosePositionsAttrs>,
                             .infer = infer,
                             .reference = reference,
                             .bound = exact,
                             .cost = cost,
                             .col_granule = last_dimension,
                             .positions = Positions::differences};

Tensor choose_positions(Tensor q, Tensor k, const AttentionRuns& runs,
                        const ChoosePositionsAttrs& attrs, Tensor weights, SourceLine where) {
  return add_node(kChoosePositions,
                  {q, k, runs.table, runs.table_row, runs.first, runs.last, weights}, attrs, where);
}

}  // namespace weft
