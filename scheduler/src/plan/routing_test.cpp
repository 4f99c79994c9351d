#include "weft/scheduler/routing.h"

#include <algorithm>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "weft/backends/device.h"
#include "weft/ops/rows/copy.h"
#include "weft/scheduler/passes.h"
#include "weft/scheduler/planner.h"

#include "support/session.h"
#include "support/toy_llama.h"

namespace weft {
namespace {

using namespace weft::test;

// y = 2 x. No backend has a kernel for it.
TensorSpec infer_twice(const Attrs&, Specs in) {
  return in[0];
}
void twice_reference(const Attrs&, Views in, View out) {
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    for (std::int64_t c = 0; c < out.cols(); ++c)
      out.row<float>(r)[c] = 2 * in[0].row<const float>(r)[c];
  }
}
constexpr OpInput kTwiceInputs[] = {{"x"}};
const OpDef kTwice{
    .name = "twice", .inputs = kTwiceInputs, .infer = infer_twice, .reference = twice_reference};

TEST_CASE(
    "cpu falls back to the scalar definition for ops without a kernel, and the plan says so") {
  Graph g;
  const Tensor in[] = {g.input("x", {f32, {4, 8}})};
  const Tensor y = g.add(kTwice, in, {}, std::source_location::current());
  g.output("y", y + y);
  const Assignment assignment{Routes("cpu", "")};
  const Plan plan = make_plan(g, assignment, {.name = "twice", .lanes = 2});
  CHECK(plan.steps[0].backend == "reference");
  CHECK(plan.steps[0].instead_of == "cpu");
  CHECK(plan.steps[1].backend == "cpu");
  CHECK(plan.steps[1].instead_of.empty());
  CHECK(plan.to_text().find("\ncpu has no kernel for 1 of the nodes, computed by their "
                            "definitions: 'twice'\n") != std::string::npos);
  CHECK(plan.to_json().find("\"instead_of\":\"cpu\"") != std::string::npos);
  check(plan, g);

  Memory memory;
  Workers workers(2);
  TestSession session(g, plan, assignment, memory, workers);
  const auto x = session.executor.input("x");
  for (std::size_t i = 0; i < 32; ++i)
    reinterpret_cast<float*>(x.data())[i] = static_cast<float>(i);
  session.executor.run({});
  CHECK(session.floats("y")[31] == 4 * 31);

  // Asked for alone, or by name, that is nothing to mention.
  CHECK_THROWS_AS(make_plan(g, cpu_backend(), {}), UnsupportedError);
  CHECK(make_plan(g, Assignment{Routes("reference", "")}, {}).steps[0].instead_of.empty());
  CHECK(make_plan(g, Assignment{Routes("cpu", "twice=reference")}, {}).steps[0].instead_of.empty());
}

// Memory that is never touched.
class FakeDevice final : public Device {
 public:
  std::string_view name() const override { return "fake"; }
  std::byte* allocate(std::int64_t) override { return nullptr; }
  void release(std::byte*) noexcept override {}
  bool owns(const std::byte*) const override { return false; }
  void upload(const DeviceCopy&) override {}
  void download(const DeviceCopy&) override {}
  void finish() override {}
};

// Runs nodes of some ops on a device, if they have one row.
class FakeBackend final : public Backend {
 public:
  explicit FakeBackend(std::vector<std::string> ops) : ops_(std::move(ops)) {}
  std::string_view name() const override { return "fake"; }
  std::string description() const override { return "fake"; }
  Device* device() const override { return device_.get(); }
  std::optional<Kernel> find(const Graph&, const Node& node) const override {
    const bool to_device = node.op == &kCopy && node.attrs.as<CopyAttrs>().from == MemoryId::host;
    const bool runs = node.spec.shape.rows().bound == 1 || node.op->storage == Storage::state;
    if (node.op != &kCopy && (!runs || std::ranges::find(ops_, node.op->name) == ops_.end()))
      return std::nullopt;
    return Kernel{.row = node.op->name,
                  .splits = false,
                  .device = node.op == &kCopy && !to_device ? nullptr : device_.get(),
                  .queued = true};
  }

 private:
  std::vector<std::string> ops_;
  std::unique_ptr<FakeDevice> device_ = std::make_unique<FakeDevice>();
};

struct TwoClasses {
  std::vector<Graph> graphs;
  std::vector<Assignment> assignments;
  explicit TwoClasses(const FakeBackend& backend, bool wide_first = false) {
    for (const std::int64_t width : {1, 5}) graphs.push_back(fuse(toy_llama({.T = width}), {}));
    if (wide_first) std::swap(graphs[0], graphs[1]);
    assignments = assign(graphs, Routes(backend, {}));
  }
  std::string backend_of(std::size_t i, std::string_view path) const {
    const auto kernel = assignments[i].find(graphs[i], graphs[i][graphs[i].find(path)]);
    return std::string(kernel->backend->name());
  }
};

TEST_CASE("a state that nodes of one graph keep on the host stays there for all graphs") {
  // This device cannot run wide attention, so every node that touches its caches runs on the host.
  const FakeBackend backend({"attention", "cache_write", "rms_norm_mul"});
  for (const bool wide_first : {false, true}) {
    const TwoClasses two(backend, wide_first);
    const std::size_t decode = wide_first ? 1 : 0;
    CHECK(two.backend_of(decode, "blk.0.attention") == "cpu");
    CHECK(two.backend_of(decode, "blk.0.attn_norm") == "fake");
    CHECK(two.backend_of(1 - decode, "blk.0.attn_norm") == "cpu");
    for (std::size_t i = 0; i < 2; ++i) CHECK(two.backend_of(i, "blk.0.cache_write") == "cpu");
  }
  // If all nodes that touch it compute on the device, it is there.
  const Graph decode = fuse(toy_llama({.T = 1}), {});
  const Assignment alone = assign({&decode, 1}, Routes(backend, {})).front();
  const Kernel kernel = *alone.find(decode, decode[decode.find("blk.0.attention")]);
  CHECK(kernel.backend == &backend);
  CHECK(alone.memory_of(kernel) == device_memory(0));
}

TEST_CASE("a weight is lowered only if all its readers in all graphs allow it") {
  const FakeBackend backend({"rms_norm_mul"});
  const TwoClasses two(backend);
  for (std::size_t i = 0; i < 2; ++i) {
    const Graph& g = two.graphs[i];
    CHECK(!two.assignments[i].may_lower(g, g.find("blk.0.attn_norm.weight")));
    CHECK(two.assignments[i].may_lower(g, g.find("blk.0.attn_output.weight")));
    CHECK(two.assignments[i].may_lower(g, g.find("blk.0.attn_norm")) == (i == 1));
  }
}

TEST_CASE("copies are inserted where data moves between memories") {
  const FakeBackend backend({"rms_norm_mul"});
  TwoClasses two(backend);
  const Graph placed = lower(std::move(two.graphs[0]), two.assignments[0], {.off = {"all"}});
  const NodeId in = placed.find("get_rows.to_fake");
  const NodeId out = placed.find("blk.0.attn_norm.to_host");
  REQUIRE(in != kNoNode);
  REQUIRE(out != kNoNode);
  CHECK(std::ranges::count_if(placed.outputs(), [&](const Graph::Output& o) {
          return placed[o.node].op == &kCopy;
        }) == 0);
  const Plan plan = make_plan(placed, two.assignments[0], {.name = "decode", .lanes = 2});
  check(plan, placed);
  REQUIRE(plan.devices.size() == 1);
  CHECK(plan.placements[in].memory == device_memory(0));
  CHECK(plan.placements[out].memory == MemoryId::host);
  CHECK(plan.placements[placed.find("blk.0.attn_norm")].memory == device_memory(0));
  CHECK(plan.devices[0].bytes_in > 0);
  // Wide steps do not need the device.
  const Graph wide = lower(std::move(two.graphs[1]), two.assignments[1], {.off = {"all"}});
  CHECK(make_plan(wide, two.assignments[1], {.lanes = 2}).devices.empty());
}

}  // namespace
}  // namespace weft
