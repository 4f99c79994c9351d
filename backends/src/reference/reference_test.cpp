#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include "weft/backends/backend.h"
#include "weft/backends/device.h"
#include "weft/base/error.h"

namespace weft {
namespace {

TensorSpec infer_double(const Attrs&, Specs in) {
  return in[0];
}
void reference_double(const Attrs&, Views in, View out) {
  for (std::int64_t i = 0; i < out.cols(); ++i) out.row<float>(0)[i] = 2 * in[0].row<float>(0)[i];
}
constexpr OpInput kDoubleInputs[] = {{"x"}};
const OpDef kDouble{.name = "double",
                    .inputs = kDoubleInputs,
                    .infer = infer_double,
                    .reference = reference_double};
const OpDef kLook{
    .name = "look", .inputs = kDoubleInputs, .infer = infer_double, .storage = Storage::view};

TEST_CASE("the reference backend runs an unknown op without splitting it") {
  Graph g;
  const Tensor x = g.input("x", {f32, {3}});
  const Tensor y = g.add(kDouble, {{x}}, {}, std::source_location::current());
  const auto kernel = reference_backend().find(g, g[y.id()]);
  REQUIRE(kernel);
  CHECK(kernel->row == "double reference");
  CHECK_FALSE(kernel->splits);
  CHECK(kernel->scratch_bytes == 0);

  std::vector<float> data{1, 2, 3};
  const View v{.data = reinterpret_cast<std::byte*>(data.data()),
               .dtype = f32,
               .n_dims = 1,
               .dims = {3},
               .row_stride = 12};
  const View in[] = {v};
  const Attrs attrs;
  kernel->run({.op = &kDouble, .attrs = &attrs, .in = in, .out = v}, Region::whole(v));
  CHECK(data == std::vector<float>{2, 4, 6});
}

// Fails like an op of another language.
void reference_fails(const Attrs&, Views, View) {
  throw std::runtime_error("no luck");
}
const OpDef kUnlucky{.name = "unlucky",
                     .inputs = kDoubleInputs,
                     .infer = infer_double,
                     .reference = reference_fails,
                     .custom = true};

TEST_CASE("the errors of a custom op are reported") {
  Graph g;
  const Tensor x = g.input("x", {f32, {3}});
  const Tensor y = g.add(kUnlucky, {{x}}, {}, std::source_location::current());
  auto kernel = reference_backend().find(g, g[y.id()]);
  REQUIRE(kernel);
  CHECK(kernel->row == "unlucky custom");
  KernelFailure failure;
  const Attrs attrs;
  KernelArgs args{.op = &kUnlucky, .attrs = &attrs};
  const auto prepared = reference_backend().prepare(g, g[y.id()], args, failure);
  args.prepared = prepared.get();
  kernel->run(args, {});
  CHECK(failure.take() == "node 'unlucky': no luck");
}

TEST_CASE("nodes without a definition have no kernel") {
  Graph g;
  const Tensor x = g.input("x", {f32, {3}});
  const Tensor y = g.add(kLook, {{x}}, {}, std::source_location::current());
  CHECK_FALSE(reference_backend().find(g, g[x.id()]));
  CHECK_FALSE(reference_backend().find(g, g[y.id()]));
}

// Also run with a WEFT_CPU_ISA that makes cpu_backend() throw: see CMakeLists.txt.
TEST_CASE("the reference backend is found by name, regardless of the cpu backend") {
  CHECK(&find_backend("reference") == &reference_backend());
  CHECK_THROWS_WITH_AS(find_backend("gpu"), "unknown backend 'gpu' (known: cpu, reference)",
                       ValueError);
}

}  // namespace
}  // namespace weft
