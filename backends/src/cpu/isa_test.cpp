#include "cpu/isa.h"

#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/silu.h"

#include "cpu/cpu_backend.h"

namespace weft::cpu {
namespace {

template <Isa kBest>
bool up_to(Isa isa) {
  return isa <= kBest;
}

TEST_CASE("the best instruction set of the machine is chosen, or the forced one") {
  CHECK(choose_isa(nullptr, up_to<Isa::avx512vnni>) == Isa::avx512vnni);
  CHECK(choose_isa("", up_to<Isa::avx2>) == Isa::avx2);
  CHECK(choose_isa(nullptr, up_to<Isa::sse2>) == Isa::sse2);
  for (const Isa isa : kAllIsas) {
    CHECK(choose_isa(std::string(to_string(isa)).c_str(), up_to<Isa::avx512vnni>) == isa);
  }
}

TEST_CASE("names that do not exist and sets that the machine lacks are refused") {
  CHECK_THROWS_WITH_AS(
      choose_isa("avx9", up_to<Isa::avx512vnni>),
      "WEFT_CPU_ISA: 'avx9' is not an instruction set; known: sse2, avx2, avx512, avx512vnni",
      ValueError);
  CHECK_THROWS_WITH_AS(choose_isa("avx512", up_to<Isa::avx2>),
                       "WEFT_CPU_ISA: this machine lacks avx512 (AVX-512)", UnsupportedError);
}

TEST_CASE("every machine has SSE2, and each set implies the ones before it") {
  CHECK(machine_has(Isa::sse2));
  for (std::size_t i = 1; i < std::size(kAllIsas); ++i) {
    if (machine_has(kAllIsas[i])) CHECK(machine_has(kAllIsas[i - 1]));
  }
}

TEST_CASE("a backend made for an instruction set has its rows") {
  Graph g;
  const Tensor y = silu(g.input("x", {f32, {4}}));
  CHECK(CpuBackend(Isa::sse2).find(g, g[y.id()])->row == "silu sse2");
  CHECK(CpuBackend(Isa::avx2).find(g, g[y.id()])->row == "silu avx2");
  CHECK(CpuBackend(Isa::avx512vnni).find(g, g[y.id()])->row == "silu avx512");
  CHECK(CpuBackend(Isa::avx2).description() == "cpu, AVX2 with FMA and F16C");
}

TEST_CASE("cpu_backend() obeys WEFT_CPU_ISA") {
  const char* forced = std::getenv("WEFT_CPU_ISA");
  if (forced && !machine_has(parse_isa(forced))) {
    CHECK_THROWS_AS(cpu_backend(), UnsupportedError);
    CHECK_THROWS_AS(all_backends(), UnsupportedError);
    return;
  }
  CHECK(dynamic_cast<const CpuBackend&>(cpu_backend()).isa() == choose_isa(forced));
  CHECK(all_backends().front() == &cpu_backend());
  CHECK(all_backends().back() == &reference_backend());
  for (const Backend* backend : all_backends()) CHECK(&find_backend(backend->name()) == backend);
}

}  // namespace
}  // namespace weft::cpu
