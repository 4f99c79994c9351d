#include "cpu/isa.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/base/error.h"
#include "weft/ops/elementwise/silu.h"

#include "cpu/cpu_backend.h"
#include "cpu/kernel_rows.h"

namespace weft::cpu {
namespace {

FeatureSet of(std::string_view name) {
  return find_instruction_set(name).needs;
}
const InstructionSet& best() {
  return instruction_sets().front();
}
const InstructionSet& least() {  // every processor of the kind has it
  return instruction_sets().back();
}
FeatureSet all_features() {
  FeatureSet all;
  for (const auto& bit : kCpuidBits) all.add(bit.feature);
  for (const auto& bit : kHwcapBits) all.add(bit.feature);
  return all;
}

TEST_CASE("kernels may use what the machine has, or what the forced instruction set needs") {
  CHECK(choose_features(nullptr, all_features()) ==
        (instruction_sets_left_out().empty() ? all_features() : best().needs));
  CHECK(choose_features("", least().needs) == least().needs);
  for (const InstructionSet& set : instruction_sets()) {
    CHECK(choose_features(std::string(set.name).c_str(), all_features()) == set.needs);
    CHECK(best_instruction_set(set.needs) == &set);
  }
}

#if defined(__x86_64__)
// The bit of the list that reports a feature.
CpuidBit bit_of(Feature feature) {
  return std::ranges::find(kCpuidBits, feature, &FeatureBit<CpuidBit>::feature)->where;
}

TEST_CASE("code on vectors needs the same bits of the processor as the list of instruction sets") {
  using Bits = std::vector<CpuidBit>;
  CHECK(Bits(kAvx2Bits.begin(), kAvx2Bits.end()) == Bits{bit_of(Feature::avx2)});
  CHECK(Bits(kAvx512Bits.begin(), kAvx512Bits.end()) ==
        Bits{bit_of(Feature::avx512f), bit_of(Feature::avx512dq), bit_of(Feature::avx512bw),
             bit_of(Feature::avx512vl)});
}
#endif

TEST_CASE("unknown names and instruction sets that the machine lacks are rejected") {
  std::vector<std::string_view> known;
  for (const InstructionSet& set : instruction_sets()) known.push_back(set.name);
  CHECK_THROWS_WITH_AS(choose_features("avx9", all_features()),
                       fmt::format("WEFT_CPU_ISA: unknown instruction set 'avx9' (known: {})",
                                   fmt::join(known, ", "))
                           .c_str(),
                       ValueError);
  if (best().name == least().name) return;
  CHECK_THROWS_WITH_AS(
      choose_features(std::string(best().name).c_str(), least().needs),
      fmt::format("WEFT_CPU_ISA: this machine lacks {} ({})", best().name, best().description)
          .c_str(),
      UnsupportedError);
}

TEST_CASE("instruction sets that were left out of the build are refused by name") {
  for (const InstructionSet& set : instruction_sets_left_out()) {
    const std::string name(set.name);
    CHECK_THROWS_WITH_AS(choose_features(name.c_str(), all_features()),
                         doctest::Contains(("without kernels for " + name).c_str()),
                         UnsupportedError);
    CHECK(CpuBackend(least().needs).description().find(name) != std::string::npos);
  }
}

TEST_CASE("instruction sets: no two need the same, names are unique") {
  std::set<std::string_view> names;
  for (const InstructionSet& a : instruction_sets()) {
    CHECK(names.insert(a.name).second);
    for (const InstructionSet& b : instruction_sets())
      CHECK((a.needs == b.needs) == (a.name == b.name));
  }
  CHECK(machine_features().contains(least().needs));
  CHECK_FALSE(FeatureSet().contains(least().needs));
}

// AVX-VNNI is not part of AVX-512, and processors have either without the other.
TEST_CASE("the first row whose features are all available runs: sets need not be nested") {
  constexpr Feature kAvx2{56}, kAvx512{57}, kAvx512Vnni{58}, kAvxVnni{59};
  const FeatureSet avx2 = {kAvx2}, avxvnni = {kAvx2, kAvxVnni}, avx512 = {kAvx2, kAvx512},
                   vnni = {kAvx2, kAvx512, kAvx512Vnni};
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
  CHECK(chosen({}) == "none");
  CHECK(chosen(FeatureSet{kAvxVnni}) == "none");
}

TEST_CASE("a backend made for some features has its rows") {
  Graph g;
  const Tensor y = silu(g.input("x", {f32, {4}}));
  const auto row = [&](FeatureSet has) {
    const auto kernel = CpuBackend(has).find(g, g[y.id()]);
    return kernel ? kernel->row : "none";
  };
  CHECK(row(least().needs) == fmt::format("silu {}", least().name));
  CHECK(row({}) == "none");
  for (const InstructionSet& set : instruction_sets()) {
    const std::string name(row(set.needs).substr(std::string_view("silu ").size()));
    CHECK_MESSAGE(set.needs.contains(of(name)), set.name, " has ", name);
    CHECK(CpuBackend(set.needs).description().starts_with(fmt::format("cpu, {}", set.description)));
  }
}

TEST_CASE("cpu_backend() obeys WEFT_CPU_ISA") {
  const char* forced = std::getenv("WEFT_CPU_ISA");
  const auto is_forced = [&](const InstructionSet& set) { return set.name == forced; };
  if (forced && (!machine_features().contains(of(forced)) ||
                 std::ranges::any_of(instruction_sets_left_out(), is_forced))) {
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
