#include "recurrent/token_runs.h"

namespace weft::ops {

void expect_state_rows(Specs in, const Dim& n_tokens, std::initializer_list<std::int64_t> shape) {
  const TensorSpec& state = in[in.size() - 4];
  expect_dtype("state", state, f32);
  const bool fits = state.shape.n_dims() == static_cast<int>(shape.size()) + 1 &&
                    !state.shape[0].varies() &&
                    std::equal(shape.begin(), shape.end(), state.shape.begin() + 1,
                               [](std::int64_t n, const Dim& dim) { return dim == Dim(n); });
  std::string wanted;
  for (const std::int64_t n : shape) wanted += fmt::format(", {}", n);
  expect_form(fits, "state", state, "[R{}]", wanted);
  constexpr std::string_view kNames[] = {"from", "before", "to"};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    const TensorSpec& spec = in[in.size() - std::size(kNames) + i];
    expect_dtype(kNames[i], spec, i32);
    expect_shape(kNames[i], spec, {n_tokens});
  }
}

Cost recurrent_cost(Specs in, const TensorSpec& out, const Extents& extents,
                    std::int64_t products) {
  const std::int64_t elems = in[in.size() - 4].shape.cols() * out.shape[0].extent(extents);
  const auto state_bytes = elems * static_cast<std::int64_t>(sizeof(float));
  Cost cost = moves(in.first(in.size() - 4), out, extents, elems * products);
  cost.bytes_read += state_bytes;
  cost.bytes_written += state_bytes;
  return cost;
}

TokenRuns::TokenRuns(Views in) : to(in[in.size() - 1].row<const std::int32_t>(0)) {
  const View& rows = in[in.size() - 3];
  const std::int32_t* from = rows.row<const std::int32_t>(0);
  const std::int32_t* before = in[in.size() - 2].row<const std::int32_t>(0);
  std::vector<std::size_t> run_of(static_cast<std::size_t>(rows.cols()));
  for (std::size_t t = 0; t < run_of.size(); ++t) {
    if (before[t] < 0) {
      run_of[t] = runs.size();
      runs.push_back({from[t], {}});
    } else {
      run_of[t] = run_of[static_cast<std::size_t>(before[t])];
    }
    runs[run_of[t]].tokens.push_back(static_cast<std::int64_t>(t));
  }
}

}  // namespace weft::ops
