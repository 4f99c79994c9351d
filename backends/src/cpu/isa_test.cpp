#include "cpu/isa.h"

#include <array>
#include <cstdlib>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/silu.h"

#include "cpu/cpu_backend.h"
#include "cpu/kernel_rows.h"

namespace weft::cpu {
namespace {

FeatureSet of(std::string_view name) {
  return find_instruction_set(name).needs;
}
FeatureSet all_features() {
  FeatureSet all;
  for (const CpuidBit& bit : kCpuidBits) all.add(bit.feature);
  return all;
}

TEST_CASE("kernels may use what the machine has, or what the forced instruction set needs") {
  CHECK(choose_features(nullptr, all_features()) == all_features());
  CHECK(choose_features("", of("avx2")) == of("avx2"));
  for (const InstructionSet& set : instruction_sets()) {
    CHECK(choose_features(std::string(set.name).c_str(), all_features()) == set.needs);
    CHECK(best_instruction_set(set.needs) == &set);
  }
}

TEST_CASE("unknown names and instruction sets that the machine lacks are rejected") {
  CHECK_THROWS_WITH_AS(choose_features("avx9", all_features()),
                       "WEFT_CPU_ISA: unknown instruction set 'avx9' (known: avx512vbmi, "
                       "avx512vnni, avx512, avxvnni, avx2, sse2)",
                       ValueError);
  CHECK_THROWS_WITH_AS(choose_features("avx512", of("avx2")),
                       "WEFT_CPU_ISA: this machine lacks avx512 (AVX-512)", UnsupportedError);
}

TEST_CASE("instruction sets: no two need the same, names are unique") {
  std::set<std::string_view> names;
  for (const InstructionSet& a : instruction_sets()) {
    CHECK(names.insert(a.name).second);
    for (const InstructionSet& b : instruction_sets())
      CHECK((a.needs == b.needs) == (a.name == b.name));
  }
  CHECK(machine_features().contains(of("sse2")));
  CHECK_FALSE(FeatureSet().contains(of("sse2")));
}

// AVX-VNNI is no part of AVX-512, and processors have either without the other.
TEST_CASE("the first row whose features are all available runs: sets need not be nested") {
  constexpr Feature kAvxVnni{60};
  const FeatureSet avx2 = of("avx2"), avx512 = of("avx512"), vnni = of("avx512vnni");
  FeatureSet avxvnni = avx2;
  avxvnni.add(kAvxVnni);
  const InstructionSet sets[] = {{"avx512vnni", "", vnni},
                                 {"avxvnni", "", avxvnni},
                                 {"avx512", "", avx512},
                                 {"avx2", "", avx2}};
  const std::array<KernelRow<int>, 4> rows = {
      {{&sets[0], 0}, {&sets[1], 1}, {&sets[2], 2}, {&sets[3], 3}}};
  const auto chosen = [&](FeatureSet has) {
    const auto* row = first_fit(rows, has);
    return row ? row->isa->name : "none";
  };
  const auto with_avxvnni = [](FeatureSet has) {
    has.add(kAvxVnni);
    return has;
  };
  CHECK(chosen(avx2) == "avx2");
  CHECK(chosen(avxvnni) == "avxvnni");
  CHECK(chosen(avx512) == "avx512");
  CHECK(chosen(with_avxvnni(avx512)) == "avxvnni");
  CHECK(chosen(vnni) == "avx512vnni");
  CHECK(chosen(with_avxvnni(vnni)) == "avx512vnni");
  CHECK(chosen(of("sse2")) == "none");
  CHECK(chosen(FeatureSet{kAvxVnni}) == "none");
}

TEST_CASE("a backend made for some features has its rows") {
  Graph g;
  const Tensor y = silu(g.input("x", {f32, {4}}));
  const auto row = [&](FeatureSet has) {
    const auto kernel = CpuBackend(has).find(g, g[y.id()]);
    return kernel ? kernel->row : "none";
  };
  CHECK(row(of("sse2")) == "silu sse2");
  CHECK(row(of("avx2")) == "silu avx2");
  CHECK(row(of("avx512vnni")) == "silu avx512");
  CHECK(row({}) == "none");
  CHECK(CpuBackend(of("avx2")).description() == "cpu, AVX2 with FMA and F16C");
}

TEST_CASE("cpu_backend() obeys WEFT_CPU_ISA") {
  const char* forced = std::getenv("WEFT_CPU_ISA");
  if (forced && !machine_features().contains(of(forced))) {
    CHECK_THROWS_AS(cpu_backend(), UnsupportedError);
    CHECK_THROWS_AS(all_backends(), UnsupportedError);
    return;
  }
  CHECK(dynamic_cast<const CpuBackend&>(cpu_backend()).features() ==
        choose_features(forced, machine_features()));
  CHECK(all_backends().front() == &cpu_backend());
  CHECK(all_backends().back() == &reference_backend());
  for (const Backend* backend : all_backends()) CHECK(&find_backend(backend->name()) == backend);
}

}  // namespace
}  // namespace weft::cpu
