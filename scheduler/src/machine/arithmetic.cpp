// Loops of one instruction, in assembly: if a compiler kept one of the sums in memory, that would
// be measured instead.

#include <array>
#include <string_view>

#include "weft/scheduler/best_pass.h"
#include "weft/scheduler/machine_limits.h"

namespace weft::bench {
namespace {

constexpr int kPasses = 12;
constexpr std::int64_t kTurns = 1 << 17;  // turns of a loop: at least some hundred thousand cycles

struct Loop {
  const char* instruction = "";
  double multiply_adds = 0;  // per turn
  void (*run)(std::int64_t turns) = nullptr;
};

// The best loops of an instruction set.
struct Loops {
  std::string_view set;
  Loop int8, f32;
};

#if defined(__x86_64__)

#define WEFT_SUMS                                                                          \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
      "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc"

// Numbers above 15 name registers that only AVX-512 has and that code compiled without it, like
// this, never keeps anything in.
void vpdpbusd_zmm(std::int64_t turns) {
  asm volatile(
      "vpternlogd $255, %%zmm30, %%zmm30, %%zmm30\n"
      "1:\n"
      ".irp sum, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
      "vpdpbusd %%zmm30, %%zmm30, %%zmm\\sum\n"
      ".endr\n"
      "dec %0\n jnz 1b\n vzeroupper"
      : "+r"(turns)
      :
      : WEFT_SUMS);
}

void vpmaddubsw_zmm(std::int64_t turns) {
  asm volatile(
      "vpternlogd $255, %%zmm30, %%zmm30, %%zmm30\n"
      "1:\n"
      ".irp sum, 0, 1, 2, 3, 4, 5, 6, 7\n"
      "vpmaddubsw %%zmm30, %%zmm30, %%zmm29\n"
      "vpmaddwd %%zmm30, %%zmm29, %%zmm29\n"
      "vpaddd %%zmm29, %%zmm\\sum, %%zmm\\sum\n"
      ".endr\n"
      "dec %0\n jnz 1b\n vzeroupper"
      : "+r"(turns)
      :
      : WEFT_SUMS);
}

void vpdpbusd_ymm(std::int64_t turns) {
  asm volatile(
      "vpcmpeqd %%ymm15, %%ymm15, %%ymm15\n"
      "1:\n"
      ".irp sum, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n"
      "%{vex%} vpdpbusd %%ymm15, %%ymm15, %%ymm\\sum\n"
      ".endr\n"
      "dec %0\n jnz 1b\n vzeroupper"
      : "+r"(turns)
      :
      : WEFT_SUMS);
}

void vpmaddubsw_ymm(std::int64_t turns) {
  asm volatile(
      "vpcmpeqd %%ymm15, %%ymm15, %%ymm15\n"
      "1:\n"
      ".irp sum, 0, 1, 2, 3, 4, 5, 6, 7\n"
      "vpmaddubsw %%ymm15, %%ymm15, %%ymm14\n"
      "vpmaddwd %%ymm15, %%ymm14, %%ymm14\n"
      "vpaddd %%ymm14, %%ymm\\sum, %%ymm\\sum\n"
      ".endr\n"
      "dec %0\n jnz 1b\n vzeroupper"
      : "+r"(turns)
      :
      : WEFT_SUMS);
}

void pmaddwd_xmm(std::int64_t turns) {
  asm volatile(
      "pcmpeqd %%xmm15, %%xmm15\n"
      "1:\n"
      ".irp sum, 0, 1, 2, 3, 4, 5, 6, 7\n"
      "movdqa %%xmm15, %%xmm14\n"
      "pmaddwd %%xmm15, %%xmm14\n"
      "paddd %%xmm14, %%xmm\\sum\n"
      ".endr\n"
      "dec %0\n jnz 1b\n"
      : "+r"(turns)
      :
      : WEFT_SUMS);
}

constexpr float kFactor = 0.5f;  // sums converge to 0.5

void vfmadd_zmm(std::int64_t turns) {
  asm volatile(
      "vbroadcastss %1, %%zmm30\n"
      ".irp sum, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
      "vpxord %%zmm\\sum, %%zmm\\sum, %%zmm\\sum\n"
      ".endr\n"
      "1:\n"
      ".irp sum, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
      "vfmadd132ps %%zmm30, %%zmm30, %%zmm\\sum\n"
      ".endr\n"
      "dec %0\n jnz 1b\n vzeroupper"
      : "+r"(turns)
      : "m"(kFactor)
      : WEFT_SUMS);
}

void vfmadd_ymm(std::int64_t turns) {
  asm volatile(
      "vbroadcastss %1, %%ymm15\n"
      ".irp sum, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n"
      "vxorps %%ymm\\sum, %%ymm\\sum, %%ymm\\sum\n"
      ".endr\n"
      "1:\n"
      ".irp sum, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n"
      "vfmadd132ps %%ymm15, %%ymm15, %%ymm\\sum\n"
      ".endr\n"
      "dec %0\n jnz 1b\n vzeroupper"
      : "+r"(turns)
      : "m"(kFactor)
      : WEFT_SUMS);
}

void mulps_xmm(std::int64_t turns) {
  asm volatile(
      "movss %1, %%xmm15\n"
      "shufps $0, %%xmm15, %%xmm15\n"
      ".irp sum, 0, 1, 2, 3, 4, 5, 6, 7\n"
      "xorps %%xmm\\sum, %%xmm\\sum\n"
      ".endr\n"
      "1:\n"
      ".irp sum, 0, 1, 2, 3, 4, 5, 6, 7\n"
      "mulps %%xmm15, %%xmm\\sum\n"
      "addps %%xmm15, %%xmm\\sum\n"
      ".endr\n"
      "dec %0\n jnz 1b\n"
      : "+r"(turns)
      : "m"(kFactor)
      : WEFT_SUMS);
}

#undef WEFT_SUMS

constexpr Loop kVnniZmm{"vpdpbusd zmm", 16 * 64, vpdpbusd_zmm};
constexpr Loop kFmaZmm{"vfmadd zmm", 16 * 16, vfmadd_zmm},
    kFmaYmm{"vfmadd ymm", 12 * 8, vfmadd_ymm};

constexpr Loops kLoops[] = {
    {"avx512vbmi", kVnniZmm, kFmaZmm},
    {"avx512vnni", kVnniZmm, kFmaZmm},
    {"avx512", {"vpmaddubsw, vpmaddwd and vpaddd zmm", 8 * 64, vpmaddubsw_zmm}, kFmaZmm},
    {"avxvnni", {"vpdpbusd ymm", 12 * 32, vpdpbusd_ymm}, kFmaYmm},
    {"avx2", {"vpmaddubsw, vpmaddwd and vpaddd ymm", 8 * 32, vpmaddubsw_ymm}, kFmaYmm},
    {"sse2",
     {"pmaddwd and paddd xmm", 8 * 8, pmaddwd_xmm},
     {"mulps and addps xmm", 8 * 4, mulps_xmm}},
};

#elif defined(__aarch64__)

// Sums in v0 to v15; v31 has the factors. All start at 0, or at 0.5 for floats.
#define WEFT_LOOP(name, start, instruction)                                                     \
  void name(std::int64_t turns) {                                                               \
    asm volatile(".arch armv8.2-a+dotprod+i8mm\n" start                                         \
                 "1:\n"                                                                         \
                 ".irp sum, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n" instruction \
                 "\n.endr\n"                                                                    \
                 "subs %0, %0, #1\n b.ne 1b\n"                                                  \
                 : "+r"(turns)                                                                  \
                 :                                                                              \
                 : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",    \
                   "v12", "v13", "v14", "v15", "v31", "cc");                                    \
  }
#define WEFT_START(zero) \
  ".irp sum, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 31\n" zero "\n.endr\n"

WEFT_LOOP(smmla, WEFT_START("movi v\\sum\\().4s, #0"), "smmla v\\sum\\().4s, v31.16b, v31.16b")
WEFT_LOOP(sdot, WEFT_START("movi v\\sum\\().4s, #0"), "sdot v\\sum\\().4s, v31.16b, v31.16b")
WEFT_LOOP(smlal, WEFT_START("movi v\\sum\\().4s, #0"), "smlal v\\sum\\().8h, v31.8b, v31.8b")
WEFT_LOOP(fmla, WEFT_START("fmov v\\sum\\().4s, #0.5"), "fmla v\\sum\\().4s, v31.4s, v31.4s")

#undef WEFT_START
#undef WEFT_LOOP

constexpr Loop kFmla{"fmla 4s", 16 * 4, fmla};
constexpr Loops kLoops[] = {
    {"neon_i8mm", {"smmla", 16 * 32, smmla}, kFmla},
    {"neon", {"sdot", 16 * 16, sdot}, kFmla},
    {"armv8", {"smlal 8h", 16 * 8, smlal}, kFmla},
};

#else

constexpr std::array<Loops, 0> kLoops{};

#endif

Loops loops_of(std::string_view set) {
  for (const Loops& loops : kLoops) {
    if (loops.set == set) return loops;
  }
  return {};
}

ArithmeticLimit measure(const Loop& loop, int threads) {
  if (loop.run == nullptr) return {};
  const double seconds = best_pass(
      threads, kPasses, [](int) {}, [&](int) { loop.run(kTurns); });
  return {.multiply_adds_per_second = loop.multiply_adds * kTurns * threads / seconds,
          .threads = threads,
          .instruction = loop.instruction};
}

}  // namespace

ArithmeticLimit measure_int8(int threads, std::string_view set) {
  return measure(loops_of(set).int8, threads);
}
ArithmeticLimit measure_f32(int threads, std::string_view set) {
  return measure(loops_of(set).f32, threads);
}

}  // namespace weft::bench
