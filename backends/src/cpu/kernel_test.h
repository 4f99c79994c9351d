#pragma once
// Helpers for the tests of kernels. They test the kernels that cpu_backend() chooses; CTest runs
// them once per instruction set.

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "weft/backends/backend.h"

#include "cpu/isa.h"
#include "support/eval.h"

namespace weft::test {

using Floats = std::vector<float>;

// Rows at odd distances, so that no row after the first is aligned to more than a float.
inline constexpr EvaluatorOptions kOddRows{.row_padding = 4};

// Runs the kernel of node `path` on copies of the inputs that `eval`, after run(), holds for it.
// Each copy ends at a page that cannot be touched. Checks that
//   - the result, and the state that the node updates, lie within the op's bounds of the
//   definition, and integers are those of the definition,
//   - cutting rows and columns anywhere (in granules of the op) and computing the parts in any
//   order gives the same bits,
//   - computing in place, if the op allows it, gives the same bits,
//   - nothing between the rows of the output is written.
// `seed` chooses the cuts. Returns the row's name.
std::string check_kernel(const Graph& graph, const Evaluator& eval, std::string_view path,
                         std::uint32_t seed);

// The output of the node by its kernel, whole, as floats.
Floats run_kernel(const Graph& graph, const Evaluator& eval, std::string_view path,
                  const Backend& backend = cpu_backend());

// Runs the kernel of `node` on these very tensors, with as much scratch as it needs.
void run_on(const Graph& graph, const Node& node, const std::vector<View>& in, const View& out,
            const Region& region, std::span<std::byte> scratch = {});

// `n_rows` rows of random blocks with sane scales, any codes.
std::vector<std::byte> random_weights(DType dtype, std::int64_t n_rows, std::int64_t n_cols,
                                      std::uint32_t seed);

// The features that the kernels under test may use.
cpu::FeatureSet features_under_test();
// Whether they include this instruction set.
bool tests(std::string_view isa);
// The least instruction set with fused multiply-add: all that have it give the same bits. Empty if
// none was built.
std::string_view least_fused();
// The first of these instruction sets that it includes; those of other processors do not count.
std::string best_of(std::initializer_list<std::string_view> isas);

}  // namespace weft::test
