#include "cpu/kernel_test.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include <fmt/format.h>

#include "weft/backends/device.h"
#include "weft/backends/memory.h"
#include "weft/backends/tunables.h"
#include "weft/graph/row_layout.h"
#include "weft/ops/formats/bf16.h"
#include "weft/ops/formats/f16.h"
#include "weft/ops/formats/half.h"
#include "weft/ops/formats/iq1_m.h"
#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q4_k.h"
#include "weft/ops/formats/q6_k.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/formats/q8a.h"

#include "cpu/cpu_backend.h"
#include "cpu/isa_table.h"
#include "cpu/panels.h"
#include "support/compare.h"
#include "support/guarded.h"

namespace weft::test {
namespace {

struct Copy {
  std::unique_ptr<Guarded> memory;
  View view;
};

std::int64_t row_bytes(const View& v) {
  return v.dtype.bytes(v.cols());
}

// The bytes between the rows of an output before a kernel runs.
constexpr std::byte kGap{0xa5};

Copy copy_of(const View& from) {
  if (!from) return {nullptr, from};
  Copy copy{nullptr, from};
  const std::int64_t n_bytes =
      from.rows() ? (from.rows() - 1) * from.row_stride + row_bytes(from) : 0;
  copy.memory = std::make_unique<Guarded>(n_bytes);
  copy.view.data = copy.memory->data();
  std::memset(copy.view.data, static_cast<int>(kGap), static_cast<std::size_t>(n_bytes));
  for (std::int64_t r = 0; r < from.rows(); ++r) {
    std::memcpy(copy.view.row<std::byte>(r), from.row<std::byte>(r),
                static_cast<std::size_t>(row_bytes(from)));
  }
  return copy;
}

bool gaps_untouched(const View& v) {
  for (std::int64_t r = 0; r + 1 < v.rows(); ++r) {
    const std::byte* gap = v.row<std::byte>(r) + row_bytes(v);
    if (std::any_of(gap, gap + v.row_stride - row_bytes(v), [](std::byte b) { return b != kGap; }))
      return false;
  }
  return true;
}

std::vector<std::byte> bytes_of(const View& v) {
  std::vector<std::byte> out;
  for (std::int64_t r = 0; r < v.rows(); ++r) {
    const std::byte* row = v.row<std::byte>(r);
    out.insert(out.end(), row, row + row_bytes(v));
  }
  return out;
}

Floats floats_of(const View& v) {
  Floats out(static_cast<std::size_t>(v.rows() * v.cols()));
  for (std::int64_t r = 0; r < v.rows(); ++r) {
    find_format(v.dtype)->decode(v.row<std::byte>(r), out.data() + r * v.cols(), v.cols());
  }
  return out;
}

class Runner {
 public:
  Runner(const Graph& graph, const Evaluator& eval, std::string_view path,
         const Backend& backend = cpu_backend())
      : node_(graph[eval.node(path)]),
        kernel_(backend.find(graph, node_)),
        out_(eval.view(eval.node(path))) {
    REQUIRE(kernel_);
    prepared_ = backend.prepare(graph, node_, {}, failure_);
    for (const View& v : eval.inputs(eval.node(path))) inputs_.push_back(copy_of(v));
    const std::vector<TensorSpec> specs = graph.input_specs(node_);
    granule_ = node_.op->col_granule ? node_.op->col_granule(node_.attrs, specs, node_.spec) : 1;
  }

  const Kernel& kernel() const { return *kernel_; }
  const Node& node() const { return node_; }

  // Computes `regions`, one call each, into fresh memory, or over input `over`.
  View run(std::span<const Region> regions, int over = -1) {
    std::vector<View> in;
    for (const Copy& c : inputs_) in.push_back(c.view);
    spoil_updated_rows();
    result_ = copy_of(over >= 0 ? inputs_[static_cast<std::size_t>(over)].view : out_);
    if (over < 0) clear(result_.view);
    if (over >= 0) in[static_cast<std::size_t>(over)] = result_.view;
    const Guarded scratch(align_up(kernel_->scratch_bytes));
    std::memset(scratch.data(), 0xff, static_cast<std::size_t>(kernel_->scratch_bytes));
    for (const Region& region : regions) {
      kernel_->run(args(in, scratch), region);
    }
    return result_.view;
  }
  // The state that the node updates; no data if it updates none.
  View updated() const {
    const int i = node_.op->updates;
    return i < 0 ? View{} : inputs_[static_cast<std::size_t>(i)].view;
  }
  View run_whole(int over = -1) {
    const Region whole = Region::whole(out_);
    return run({&whole, 1}, over);
  }

  // Computes all columns in two calls of run_cols: every second range of `cols`, then the others.
  View run_cols(std::span<const ColRange> cols) {
    std::vector<View> in;
    for (const Copy& c : inputs_) in.push_back(c.view);
    result_ = copy_of(out_);
    clear(result_.view);
    const Guarded scratch(align_up(kernel_->scratch_bytes));
    for (std::size_t half = 0; half < 2; ++half) {
      std::vector<ColRange> mine;
      for (std::size_t i = half; i < cols.size(); i += 2) mine.push_back(cols[i]);
      std::memset(scratch.data(), 0xff, static_cast<std::size_t>(kernel_->scratch_bytes));
      kernel_->run_cols(args(in, scratch), mine);
    }
    return result_.view;
  }

  // A partition of the output into rectangles, in random order.
  std::vector<Region> cuts(std::mt19937& rng) const {
    std::vector<Region> regions;
    const auto steps = [&](std::int64_t n, std::int64_t granule) {
      std::vector<std::int64_t> ends{0};
      while (ends.back() < n) {
        const auto step = static_cast<std::int64_t>(
            1 + rng() % std::max<std::uint64_t>(1, static_cast<std::uint64_t>(n / granule)));
        ends.push_back(std::min(n, ends.back() + step * granule));
      }
      return ends;
    };
    const bool by_rows = node_.op->splits_rows;
    const auto rows = by_rows ? steps(out_.rows(), 1) : std::vector<std::int64_t>{0, out_.rows()};
    for (std::size_t r = 0; r + 1 < rows.size(); ++r) {
      const auto cols = steps(out_.cols(), granule_);
      for (std::size_t c = 0; c + 1 < cols.size(); ++c)
        regions.push_back({rows[r], rows[r + 1], cols[c], cols[c + 1]});
    }
    std::ranges::shuffle(regions, rng);
    return regions;
  }

 private:
  KernelArgs args(const std::vector<View>& in, const Guarded& scratch) const {
    return {.op = node_.op,
            .attrs = &node_.attrs,
            .in = in,
            .out = result_.view,
            .scratch = {scratch.data(), static_cast<std::size_t>(kernel_->scratch_bytes)},
            .prepared = prepared_.get()};
  }
  static void clear(const View& v) {
    for (std::int64_t r = 0; r < v.rows(); ++r) clear_row(v, r);
  }
  static void clear_row(const View& v, std::int64_t r) {
    std::memset(v.row<std::byte>(r), 0xff, static_cast<std::size_t>(row_bytes(v)));
  }
  // The rows of a state that the node writes: those that its last input names
  // (ops/recurrent/state_rows.h).
  void spoil_updated_rows() {
    if (node_.op->updates < 0) return;
    const View& to = inputs_.back().view;
    for (std::int64_t t = 0; t < to.cols(); ++t) {
      if (const std::int32_t row = to.row<const std::int32_t>(0)[t]; row >= 0)
        clear_row(updated(), row);
    }
  }

  const Node& node_;
  std::optional<Kernel> kernel_;
  KernelFailure failure_;
  std::unique_ptr<PreparedKernel> prepared_;
  View out_;
  std::vector<Copy> inputs_;
  Copy result_;
  std::int64_t granule_ = 1;
};

}  // namespace

namespace {

// The output and the state that the node updates, if any.
std::vector<std::byte> written(const Runner& runner, const View& out) {
  std::vector<std::byte> bytes = bytes_of(out);
  if (!runner.updated()) return bytes;
  const std::vector<std::byte> state = bytes_of(runner.updated());
  bytes.insert(bytes.end(), state.begin(), state.end());
  return bytes;
}

void check_update(const Graph& graph, const Evaluator& eval, const Runner& runner) {
  const Node& node = runner.node();
  if (node.op->updates < 0) return;
  const NodeId state = node.inputs[static_cast<std::size_t>(node.op->updates)];
  CHECK(gaps_untouched(runner.updated()));
  const std::string_view path = graph[state].path;
  const Worst worst = worst_of(floats_of(runner.updated()), eval.floats(path), eval.bounds(path));
  CHECK_MESSAGE(worst.excess <= 1, "state: " << worst.text());
}

// Integers are those of the definition, other results lie within the op's bounds of it.
void check_result(const Evaluator& eval, std::string_view path, const View& whole) {
  if (whole.dtype == i32) {
    CHECK_MESSAGE(bytes_of(whole) == bytes_of(eval.view(eval.node(path))), "other integers");
    return;
  }
  const Worst worst = worst_of(floats_of(whole), eval.floats(path), eval.bounds(path));
  CHECK_MESSAGE(worst.excess <= 1, worst.text());
}

void check_other_set(const Graph& graph, const Evaluator& eval, std::string_view path,
                     const std::vector<std::byte>& bits) {
  const std::string_view name = least_fused();
  if (!tests(name) || cpu_backend_isa() == name) return;
  Runner other(graph, eval, path, cpu_backend(name));
  const View whole = other.run_whole();
  CHECK_MESSAGE(written(other, whole) == bits, fmt::format("other bits with {}", name));
}

}  // namespace

std::string check_kernel(const Graph& graph, const Evaluator& eval, std::string_view path,
                         std::uint32_t seed) {
  Runner runner(graph, eval, path);
  const std::string row(runner.kernel().row);
  CAPTURE(row);
  CAPTURE(seed);
  CAPTURE(to_string(runner.node().spec));
  const View whole = runner.run_whole();
  CHECK(gaps_untouched(whole));
  const std::vector<std::byte> bits = written(runner, whole);
  check_result(eval, path, whole);
  check_update(graph, eval, runner);
  check_other_set(graph, eval, path, bits);
  std::mt19937 rng(seed);
  if (runner.kernel().splits) {
    for (int i = 0; i < 3; ++i) {
      const std::vector<Region> cuts = runner.cuts(rng);
      const View parts = runner.run(cuts);
      CHECK_MESSAGE(written(runner, parts) == bits,
                    fmt::format("{} parts differ from the whole", cuts.size()));
      CHECK(gaps_untouched(parts));
    }
  }
  if (runner.kernel().run_cols) {
    for (const std::int64_t step : {16, 17, 40}) {
      std::vector<ColRange> cols;
      for (std::int64_t c = 0; c < whole.cols(); c += step)
        cols.push_back({c, std::min(c + step, whole.cols())});
      CHECK_MESSAGE(bytes_of(runner.run_cols(cols)) == bits, "ranges of columns differ");
    }
  }
  const int over = runner.node().op->in_place_over;
  if (over >= 0 && runner.node().inputs[static_cast<std::size_t>(over)] != kNoNode) {
    CHECK_MESSAGE(bytes_of(runner.run_whole(over)) == bits, "in place differs");
  }
  return row;
}

Floats run_kernel(const Graph& graph, const Evaluator& eval, std::string_view path,
                  const Backend& backend) {
  Runner runner(graph, eval, path, backend);
  return floats_of(runner.run_whole());
}

void run_on(const Graph& graph, const Node& node, const std::vector<View>& in, const View& out,
            const Region& region, std::span<std::byte> scratch) {
  KernelFailure failure;
  const auto prepared = cpu_backend().prepare(graph, node, {}, failure);
  const auto kernel = cpu_backend().find(graph, node);
  REQUIRE(kernel->scratch_bytes <= std::ssize(scratch));
  kernel->run({.op = node.op,
               .attrs = &node.attrs,
               .in = in,
               .out = out,
               .scratch = scratch,
               .prepared = prepared.get()},
              region);
}

namespace {

// The offsets of the f16 scales in a block; other formats hold nothing that is too large.
std::vector<std::size_t> scales_of(std::string_view name) {
  if (name == "MXFP4" || name == "NVFP4") return {};
  if (name == "Q6_K") return {208};
  if (name == "Q3_K") return {108};
  if (name == "Q2_K") return {80, 82};
  if (name == "TQ1_0") return {52};
  if (name == "TQ2_0") return {64};
  if (name == "Q4_K" || name == "Q5_K" || name == "Q4_1" || name == "Q5_1" || name == "Q8_1")
    return {0, 2};
  return {0};
}

std::vector<std::byte> encoded_noise(DType dtype, std::int64_t n, std::uint32_t seed) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(dtype.bytes(n)));
  find_format(dtype)->encode(noise(static_cast<std::size_t>(n), seed).data(), bytes.data(), n);
  return bytes;
}

}  // namespace

std::vector<std::byte> random_weights(DType dtype, std::int64_t n_rows, std::int64_t n_cols,
                                      std::uint32_t seed) {
  if (const RowLayout* layout = dtype.layout()) {
    const std::vector<std::byte> plain = random_weights(dtype.plain(), n_rows, n_cols, seed);
    std::vector<std::byte> panels(plain.size());
    layout->pack(dtype, plain.data(), panels.data(), n_rows, dtype.bytes(n_cols), 0, n_rows);
    return panels;
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(n_rows * dtype.bytes(n_cols)));
  if (!dtype.is_quantized()) return encoded_noise(dtype, n_rows * n_cols, seed);
  std::mt19937 rng(seed);
  for (std::byte& b : bytes) b = static_cast<std::byte>(rng());
  const auto block = static_cast<std::size_t>(dtype.block_bytes());
  const std::vector<std::size_t> halves = scales_of(dtype.name());
  if (dtype.name() == "Q8_K") return encoded_noise(dtype, n_rows * n_cols, seed);
  for (std::size_t at = 0; at < bytes.size(); at += block) {
    for (const std::size_t offset : halves) {
      const float scale = (static_cast<float>(rng() % 2000) - 1000) * 0x1p-14f;
      const std::uint16_t half = f32_to_f16(scale);
      if (dtype == iq1_m) {  // four bits in each of its last words
        for (std::size_t i = 0; i < 4; ++i) {
          std::byte& top = bytes[at + 49 + 2 * i];
          top = (top & std::byte{15}) | static_cast<std::byte>((half >> 4 * i & 15) << 4);
        }
        continue;
      }
      std::memcpy(&bytes[at + offset], &half, 2);
    }
    // Exponents near that of 1, so that sums stay finite.
    if (dtype.name() == "MXFP4") bytes[at] = static_cast<std::byte>(112 + rng() % 16);
  }
  return bytes;
}

cpu::FeatureSet features_under_test() {
  return dynamic_cast<const cpu::CpuBackend&>(cpu_backend()).features();
}
bool tests(std::string_view isa) {
  return !isa.empty() && features_under_test().contains(cpu::find_instruction_set(isa).needs);
}
std::string_view least_fused() {
  const auto sets = cpu::instruction_sets();
  const auto fused = [](const cpu::InstructionSet& set) { return set.name != "sse2"; };
  const auto last = std::find_if(sets.rbegin(), sets.rend(), fused);
  return last == sets.rend() ? std::string_view() : last->name;
}
std::string best_of(std::initializer_list<std::string_view> isas) {
  const auto fits = [](std::string_view name) {
    return std::ranges::any_of(cpu::kInstructionSets, [&](const cpu::InstructionSet& set) {
      return set.name == name && features_under_test().contains(set.needs);
    });
  };
  return std::string(*std::ranges::find_if(isas, fits));
}

}  // namespace weft::test
