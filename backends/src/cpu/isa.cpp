#include "cpu/isa.h"

#include <cstdlib>
#include <iterator>
#include <string>

#include <cpuid.h>

#include "weft/base/error.h"

#include "cpu/vbmi.h"

namespace weft::cpu {
namespace {

struct IsaInfo {
  Isa isa;
  std::string_view name, description;
};
constexpr IsaInfo kInfos[] = {
    {Isa::sse2, "sse2", "SSE2"},
    {Isa::avx2, "avx2", "AVX2 with FMA and F16C"},
    {Isa::avx512, "avx512", "AVX-512"},
    {Isa::avx512vnni, "avx512vnni", "AVX-512 with VNNI"},
};
static_assert(std::size(kInfos) == std::size(kAllIsas));

const IsaInfo& info(Isa isa) {
  return kInfos[static_cast<std::size_t>(isa)];
}

bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

}  // namespace

std::string_view to_string(Isa isa) {
  return info(isa).name;
}
std::string_view describe(Isa isa) {
  return info(isa).description;
}

Isa parse_isa(std::string_view name) {
  std::string known;
  for (const IsaInfo& i : kInfos) {
    if (i.name == name) return i.isa;
    known += (known.empty() ? "" : ", ") + std::string(i.name);
  }
  fail<ValueError>("WEFT_CPU_ISA: '{}' is not an instruction set; known: {}", name, known);
}

bool machine_has(Isa isa) {
  // These look at what the operating system saves on a context switch, too.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  switch (isa) {
    case Isa::sse2:
      return true;
    case Isa::avx2:
      return avx2;
    case Isa::avx512:
      return avx512;
    case Isa::avx512vnni:
      break;
  }
  return avx512 && __builtin_cpu_supports("avx512vnni");
}

Isa choose_isa(const char* forced, bool (*has)(Isa)) {
  if (forced && *forced) {
    const Isa isa = parse_isa(forced);
    if (!has(isa))
      fail<UnsupportedError>("WEFT_CPU_ISA: this machine lacks {} ({})", forced, describe(isa));
    return isa;
  }
  Isa best = Isa::sse2;
  for (const Isa isa : kAllIsas) {
    if (has(isa)) best = isa;
  }
  return best;
}

bool has_vbmi() {
  static const bool has = [] {
    const char* forced = std::getenv("WEFT_CPU_ISA");
    return !(forced && *forced) && __builtin_cpu_supports("avx512vbmi");
  }();
  return has;
}

}  // namespace weft::cpu
