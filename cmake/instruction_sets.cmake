# The list of the cpu backend's instruction sets. Generated from it: the compiler flags of kernels,
# the tags and the table in C++, the tests, and the names that WEFT_CPU_ISA accepts.
#
#   weft_instruction_set(NAME        the name in WEFT_CPU_ISA, plans and profiles
#     TAG Tag                        the C++ type that kernel templates take
#     [EXTENDS NAME]                 an earlier set whose features, flags and traits it includes
#     PROCESSOR regex                CMAKE_SYSTEM_PROCESSOR of machines that may have it
#     DESCRIPTION text
#     [FEATURES name=bit...]         features needed beyond EXTENDS, and the bits that tell whether
#                                    a processor has them: leaf.subleaf.register.bit of CPUID, or
#                                    hwcap.bit and hwcap2.bit of the auxiliary vector (Linux on
#                                    processors other than x86)
#     [REGISTERS xmm|ymm|zmm|tile]   the widest registers that the operating system must save
#     FLAGS flag...                  compiler flags beyond those of EXTENDS
#     KERNELS group...)              the kernels that have rows for it (backends/CMakeLists.txt)
#
# Best last: a kernel runs the row of the last set in this list whose features the machine has. Sets
# need not extend one another. Whatever is made from the list has the best one first.
weft_instruction_set(sse2
  TAG Sse2 PROCESSOR "x86_64|AMD64" DESCRIPTION "SSE2"
  FEATURES sse2=1.0.edx.26 REGISTERS xmm
  FLAGS -msse2
  KERNELS float integer lattice)
weft_instruction_set(avx2
  TAG Avx2 EXTENDS sse2 PROCESSOR "x86_64|AMD64" DESCRIPTION "AVX2 with FMA and F16C"
  FEATURES avx2=7.0.ebx.5 fma=1.0.ecx.12 f16c=1.0.ecx.29 REGISTERS ymm
  FLAGS -mavx2 -mfma -mf16c
  KERNELS float integer lattice)
weft_instruction_set(avxvnni
  TAG AvxVnni EXTENDS avx2 PROCESSOR "x86_64|AMD64" DESCRIPTION "AVX2 with VNNI"
  FEATURES avx_vnni=7.1.eax.4 REGISTERS ymm
  FLAGS -mavxvnni
  KERNELS integer)
weft_instruction_set(avx512
  TAG Avx512 EXTENDS avx2 PROCESSOR "x86_64|AMD64" DESCRIPTION "AVX-512"
  FEATURES avx512f=7.0.ebx.16 avx512cd=7.0.ebx.28 avx512dq=7.0.ebx.17 avx512bw=7.0.ebx.30 avx512vl=7.0.ebx.31
  REGISTERS zmm
  FLAGS -mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl
  KERNELS float integer lattice)
weft_instruction_set(avx512vnni
  TAG Avx512Vnni EXTENDS avx512 PROCESSOR "x86_64|AMD64" DESCRIPTION "AVX-512 with VNNI"
  FEATURES avx512vnni=7.0.ecx.11 REGISTERS zmm
  FLAGS -mavx512vnni
  KERNELS integer lattice)
weft_instruction_set(avx512vbmi
  TAG Avx512Vbmi EXTENDS avx512vnni PROCESSOR "x86_64|AMD64" DESCRIPTION "AVX-512 with VNNI and VBMI"
  FEATURES avx512vbmi=7.0.ecx.1 REGISTERS zmm
  FLAGS -mavx512vbmi
  KERNELS lattice)
weft_instruction_set(armv8
  TAG Armv8 PROCESSOR "aarch64|arm64|ARM64" DESCRIPTION "Armv8-A"
  FEATURES asimd=hwcap.1
  FLAGS -march=armv8-a
  KERNELS float integer lattice)
weft_instruction_set(neon
  TAG Neon EXTENDS armv8 PROCESSOR "aarch64|arm64|ARM64" DESCRIPTION "Armv8.2-A with dot products"
  FEATURES asimddp=hwcap.20
  FLAGS -march=armv8.2-a+dotprod
  KERNELS integer lattice)
weft_instruction_set(neon_i8mm
  TAG NeonI8mm EXTENDS neon PROCESSOR "aarch64|arm64|ARM64" DESCRIPTION "Armv8.6-A with products of int8 matrices"
  FEATURES i8mm=hwcap2.13
  FLAGS -march=armv8.2-a+dotprod+i8mm
  KERNELS integer lattice)
