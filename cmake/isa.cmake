# The instruction sets of the cpu backend: the one table of their names, tags and flags.
#
#   weft_isa_kernel(TARGET KERNEL CLASS ISAS...)
#
# adds to TARGET one generated two-line source per instruction set that instantiates CLASS (which names the tag @ARCH@) from
# src/cpu/kernels/KERNEL.inl.h, compiled with that set's flags.
set(WEFT_ISAS sse2 avx2 avx512 avx512vnni)
set(WEFT_ISAS_FLOAT sse2 avx2 avx512)  # for kernels that have no use for VNNI

set(WEFT_ISA_TAG_sse2 Sse2)
set(WEFT_ISA_TAG_avx2 Avx2)
set(WEFT_ISA_TAG_avx512 Avx512)
set(WEFT_ISA_TAG_avx512vnni Avx512Vnni)

set(WEFT_ISA_FLAGS_sse2 -msse2)
set(WEFT_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(WEFT_ISA_FLAGS_avx512 ${WEFT_ISA_FLAGS_avx2} -mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl)
set(WEFT_ISA_FLAGS_avx512vnni ${WEFT_ISA_FLAGS_avx512} -mavx512vnni)

# Kernels keep their variables in registers: red zones on the stack and checks of unaligned loads, which they make on purpose, find nothing there and
# make their compilation ten times as long.
set(WEFT_ISA_SANITIZER_FLAGS)
if(WEFT_SANITIZE MATCHES address AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(WEFT_ISA_SANITIZER_FLAGS --param=asan-stack=0 --param=asan-instrumentation-with-call-threshold=0)
endif()
if(WEFT_SANITIZE MATCHES undefined)
  list(APPEND WEFT_ISA_SANITIZER_FLAGS -fno-sanitize=null,alignment)
endif()

# No fuzz target runs a kernel: they read what is foreign, and stop before anything is computed.
if(WEFT_BUILD_FUZZERS)
  set(WEFT_ISA_SANITIZER_FLAGS -fno-sanitize=all)
endif()
# Counters in front of every line make kernels too slow to test. Their coverage is that all rows run.
if(WEFT_COVERAGE)
  set(WEFT_ISA_SANITIZER_FLAGS -fno-profile-arcs -fno-test-coverage)
endif()

function(weft_isa_kernel target kernel class)
  foreach(isa IN LISTS ARGN)
    set(ARCH weft::cpu::${WEFT_ISA_TAG_${isa}})
    string(CONFIGURE "${class}" instance @ONLY)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/kernels/${kernel}.${isa}.cpp)
    file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
      "#include \"cpu/kernels/${kernel}.inl.h\"\ntemplate struct weft::cpu::${instance};\n")
    # Unoptimized, these would hold copies of inline functions with no trace of the instruction set in their names, and the linker
    # may pick such a copy for everybody: hence -O2 always, and never link-time optimization. GCC 12 takes the undefined
    # registers in its own AVX-512 headers for mistakes.
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
      "$<$<NOT:$<CONFIG:Release>>:-O2>;-fno-lto;-fno-exceptions;-Wno-maybe-uninitialized;-Wno-uninitialized;${WEFT_ISA_SANITIZER_FLAGS};${WEFT_ISA_FLAGS_${isa}}")
    target_sources(${target} PRIVATE ${source})
  endforeach()
endfunction()
