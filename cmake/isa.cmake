# Compiles kernels once per instruction set. instruction_sets.cmake is the list of sets;
# WEFT_INSTRUCTION_SETS may name another file.
#
# The cache variable WEFT_ISAS chooses the sets: "all", "native" for the best one of this machine, or
# a list. Where a kernel has no row for a chosen set, it gets that of the set which this one extends.
# The sets that extend none are always built, so that the program runs everywhere.
#
#   WEFT_SETS                        the sets for this processor, each after the one that it extends
#   WEFT_BUILT_SETS                  those that were chosen: every kernel has what they need
#   WEFT_ISA_<name>_TAG, _DESCRIPTION, _FLAGS, _KERNELS
#   weft_kernel(TARGET FILE CLASS GROUP...)
#     Adds to TARGET one generated source for every set whose KERNELS name a GROUP. It instantiates
#     CLASS<Tag> from src/cpu/kernels/FILE.inl.h and is compiled with the flags of the set.
#   weft_weight_formats(TARGET GROUP NAME...)
#     The same for Weights<Tag, NAMEWeights> from src/cpu/kernels/weights/weights.inl.h, for weights of type
#     NAME, whose codec is in weights/<name>.inl.h.
#   weft_kernel_headers(TARGET)
#     Generates the headers that hold all of this for C++: cpu/isa_tags.h, feature_list.h,
#     isa_table.h, simd/simd.inl.h, kernel_list.h, weight_tags.h and weight_format_list.h.
include_guard(DIRECTORY)
include(Precompiled)

set(WEFT_ISAS all CACHE STRING "Instruction sets of the kernels: all, native, or a list of names")

set(WEFT_SETS)
set(WEFT_FEATURES)  # of all sources
set(WEFT_CPUID_FEATURES)
set(WEFT_HWCAP_FEATURES)

macro(weft_instruction_set name)
  cmake_parse_arguments(ISA "" "TAG;EXTENDS;PROCESSOR;DESCRIPTION;REGISTERS" "FEATURES;FLAGS;KERNELS" ${ARGN})
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(${ISA_PROCESSOR})$")
    if(ISA_EXTENDS AND NOT ISA_EXTENDS IN_LIST WEFT_SETS)
      message(FATAL_ERROR "instruction set '${name}' extends '${ISA_EXTENDS}', which is not listed before it")
    endif()
    list(APPEND WEFT_SETS ${name})
    set(WEFT_ISA_${name}_TAG ${ISA_TAG})
    set(WEFT_ISA_${name}_EXTENDS ${ISA_EXTENDS})
    set(WEFT_ISA_${name}_DESCRIPTION "${ISA_DESCRIPTION}")
    set(WEFT_ISA_${name}_FLAGS ${WEFT_ISA_${ISA_EXTENDS}_FLAGS} ${ISA_FLAGS})
    set(WEFT_ISA_${name}_KERNELS ${ISA_KERNELS})
    set(WEFT_ISA_${name}_FEATURES ${WEFT_ISA_${ISA_EXTENDS}_FEATURES})
    foreach(feature IN ITEMS ${ISA_FEATURES})
      if(feature MATCHES "^([a-z0-9_]+)=([0-9]+)\\.([0-9]+)\\.(e[abcd]x)\\.([0-9]+)$")
        set(source CPUID)
        set(bit "${CMAKE_MATCH_2}, ${CMAKE_MATCH_3}, CpuidRegister::${CMAKE_MATCH_4}, ${CMAKE_MATCH_5}, SavedRegisters::${ISA_REGISTERS}")
      elseif(feature MATCHES "^([a-z0-9_]+)=(hwcap2?)\\.([0-9]+)$")
        set(source HWCAP)
        set(bit "HwcapWord::${CMAKE_MATCH_2}, ${CMAKE_MATCH_3}")
      else()
        message(FATAL_ERROR "instruction set '${name}': '${feature}' is not NAME=LEAF.SUBLEAF.REGISTER.BIT or NAME=hwcap[2].BIT")
      endif()
      string(REGEX REPLACE "=.*" "" feature ${feature})
      list(APPEND WEFT_ISA_${name}_FEATURES ${feature})
      if(NOT feature IN_LIST WEFT_FEATURES)
        list(APPEND WEFT_FEATURES ${feature})
        list(APPEND WEFT_${source}_FEATURES ${feature})
        set(WEFT_FEATURE_${feature} "${bit}")
      endif()
    endforeach()
  endif()
endmacro()

if(NOT WEFT_INSTRUCTION_SETS)
  set(WEFT_INSTRUCTION_SETS ${CMAKE_CURRENT_LIST_DIR}/instruction_sets.cmake)
endif()
include(${WEFT_INSTRUCTION_SETS})

# Kernels keep their variables in registers and use unaligned loads on purpose. Red zones on the
# stack and checks of alignment find nothing there, and make compilation ten times slower; so do
# clang's checks of overflowing pointers, whose accesses AddressSanitizer checks.
set(WEFT_ISA_SANITIZER_FLAGS)
if(WEFT_SANITIZE MATCHES address AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(WEFT_ISA_SANITIZER_FLAGS --param=asan-stack=0 --param=asan-instrumentation-with-call-threshold=0)
elseif(WEFT_SANITIZE MATCHES address)
  set(WEFT_ISA_SANITIZER_FLAGS "SHELL:-mllvm -asan-stack=0" "SHELL:-mllvm -asan-instrumentation-with-call-threshold=0")
endif()
if(WEFT_SANITIZE MATCHES undefined)
  list(APPEND WEFT_ISA_SANITIZER_FLAGS -fno-sanitize=null,alignment)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    list(APPEND WEFT_ISA_SANITIZER_FLAGS -fno-sanitize=pointer-overflow)
  endif()
endif()
# No fuzz target runs a kernel: they only read untrusted input.
if(WEFT_BUILD_FUZZERS)
  list(APPEND WEFT_ISA_SANITIZER_FLAGS -fno-sanitize=fuzzer-no-link)
endif()
# Counters on every line make kernels too slow to test. They count as covered if all rows ran.
if(WEFT_COVERAGE)
  set(WEFT_ISA_SANITIZER_FLAGS -fno-profile-arcs -fno-test-coverage)
endif()

# The sets for which kernels of some groups are compiled: for each chosen set and group the set
# itself, or the nearest one that it extends and that the group has.
function(weft_sets_with_rows groups out)
  set(rows)
  foreach(group IN LISTS groups)
    foreach(isa IN LISTS WEFT_BUILT_SETS)
      while(isa AND NOT group IN_LIST WEFT_ISA_${isa}_KERNELS)
        set(isa ${WEFT_ISA_${isa}_EXTENDS})
      endwhile()
      list(APPEND rows ${isa})
    endforeach()
  endforeach()
  set(sets ${WEFT_SETS})
  list(JOIN rows "|" rows)
  list(FILTER sets INCLUDE REGEX "^(${rows})$")
  set(${out} ${sets} PARENT_SCOPE)
endfunction()

# The object library of `target` for all kernels of one set; they share flags and precompiled headers.
function(weft_isa_library target isa out)
  set(library ${target}_${isa})
  set(${out} ${library} PARENT_SCOPE)
  if(TARGET ${library})
    return()
  endif()
  add_library(${library} OBJECT)
  set_target_properties(${library} PROPERTIES UNITY_BUILD OFF)
  target_include_directories(${library} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
  # Unoptimized, these objects would contain copies of inline functions whose names do not say the
  # instruction set, and the linker may use such a copy everywhere. Therefore always -O2, and no
  # link-time optimization. GCC 12 warns about the undefined registers in its own AVX-512 headers.
  # The last of contradicting flags counts, so a library that is linked last has them.
  add_library(${library}_flags INTERFACE)
  target_compile_options(${library}_flags INTERFACE
    $<IF:$<CONFIG:Release>,-O3,-O2> -fno-lto -fno-exceptions -Wno-maybe-uninitialized -Wno-uninitialized
    ${WEFT_KERNEL_HARDENING} ${WEFT_ISA_SANITIZER_FLAGS} ${WEFT_ISA_${isa}_FLAGS})
  target_link_libraries(${library} PRIVATE
    fmt::fmt $<TARGET_NAME_IF_EXISTS:weft_compile_options> ${library}_flags)
  weft_precompile_own(${library} <cstddef> <cstdint> <cstring> <xsimd/xsimd.hpp>)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${library}>)
endfunction()

# Adds a source for every set of the groups. It instantiates `class`, in which @ARCH@ is the tag, from
# the header `kernel` and any further ones.
function(weft_isa_sources target kernel class groups)
  set(includes)
  foreach(file IN ITEMS ${kernel} ${ARGN})
    string(APPEND includes "#include \"cpu/kernels/${file}.inl.h\"\n")
  endforeach()
  weft_sets_with_rows("${groups}" sets)
  foreach(isa IN LISTS sets)
    set(ARCH weft::cpu::${WEFT_ISA_${isa}_TAG})
    string(CONFIGURE "${class}" instance @ONLY)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/kernels/${kernel}.${isa}.cpp)
    file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
      "${includes}template struct weft::cpu::${instance};\n")
    weft_isa_library(${target} ${isa} library)
    target_sources(${library} PRIVATE ${source})
  endforeach()
endfunction()

# The tags of the sets of some groups, best first.
function(weft_isa_tags groups out)
  weft_sets_with_rows("${groups}" sets)
  set(tags)
  foreach(isa IN LISTS sets)
    list(PREPEND tags ${WEFT_ISA_${isa}_TAG})
  endforeach()
  list(JOIN tags ", " tags)
  set(${out} "${tags}" PARENT_SCOPE)
endfunction()

function(weft_kernel target file class)
  weft_isa_sources(${target} ${file} "${class}<@ARCH@>" "${ARGN}")
  weft_isa_tags("${ARGN}" tags)
  set_property(TARGET ${target} APPEND_STRING PROPERTY WEFT_KERNEL_LIST
    "template <class Arch>\nstruct ${class};\ntemplate <>\nstruct CompiledFor<${class}> {\n  using Sets = Tags<${tags}>;\n};\n")
endfunction()

function(weft_weight_formats target group)
  weft_isa_tags(${group} tags)
  set(comma)
  if(tags)
    set(comma ", ")
  endif()
  foreach(format IN LISTS ARGN)
    string(TOLOWER ${format} name)
    weft_isa_sources(${target} weights/${name} "Weights<@ARCH@, weft::cpu::${format}Weights>" ${group} weights/weights)
    set_property(TARGET ${target} APPEND_STRING PROPERTY WEFT_WEIGHT_TAGS "struct ${format}Weights {};\n")
    set_property(TARGET ${target} APPEND_STRING PROPERTY WEFT_WEIGHT_INCLUDES "#include \"weft/ops/formats/${name}.h\"\n")
    set_property(TARGET ${target} APPEND_STRING PROPERTY WEFT_WEIGHT_ROWS " \\\n  ROW(${name}, ${format}Weights${comma}${tags})")
  endforeach()
endfunction()

# Writes cpu/isa_tags.h, cpu/feature_list.h and cpu/isa_table.h to `folder`.
function(weft_isa_headers folder)
  set(made "#pragma once\n// Made by cmake/isa.cmake.\n\n")
  set(tags)
  set(features)
  set(rows)
  set(indices)
  foreach(feature IN LISTS WEFT_FEATURES)
    string(APPEND features "  ${feature},\n")
  endforeach()
  foreach(source IN ITEMS CPUID HWCAP)
    set(${source}_BITS)
    foreach(feature IN LISTS WEFT_${source}_FEATURES)
      string(APPEND ${source}_BITS "    {Feature::${feature}, {${WEFT_FEATURE_${feature}}}},\n")
    endforeach()
    list(LENGTH WEFT_${source}_FEATURES n_${source}_bits)
  endforeach()
  # In C++ the sets that were chosen come first, and of both parts the best ones.
  set(others ${WEFT_SETS})
  list(REMOVE_ITEM others ${WEFT_BUILT_SETS})
  set(order ${others} ${WEFT_BUILT_SETS})
  list(LENGTH order index)
  foreach(isa IN LISTS order)
    math(EXPR index "${index} - 1")
    set(tag ${WEFT_ISA_${isa}_TAG})
    list(TRANSFORM WEFT_ISA_${isa}_FEATURES PREPEND "Feature::" OUTPUT_VARIABLE needs)
    list(JOIN needs ", " needs)
    string(PREPEND rows "    InstructionSet{\"${isa}\", \"${WEFT_ISA_${isa}_DESCRIPTION}\", {${needs}}},\n")
    string(APPEND indices "template <>\ninline constexpr std::size_t kIndexOf<${tag}> = ${index};\n")
  endforeach()
  foreach(isa IN LISTS WEFT_SETS)
    set(base void)
    if(WEFT_ISA_${isa}_EXTENDS)
      set(base ${WEFT_ISA_${WEFT_ISA_${isa}_EXTENDS}_TAG})
    endif()
    string(APPEND tags "// ${WEFT_ISA_${isa}_DESCRIPTION}\nstruct ${WEFT_ISA_${isa}_TAG} {\n  using Base = ${base};\n};\n")
  endforeach()
  list(LENGTH WEFT_SETS n_sets)
  list(LENGTH WEFT_BUILT_SETS n_built)
  file(CONFIGURE OUTPUT ${folder}/cpu/isa_tags.h @ONLY CONTENT "${made}namespace weft::cpu {\n\n${tags}\n}  // namespace weft::cpu\n")
  file(CONFIGURE OUTPUT ${folder}/cpu/feature_list.h @ONLY CONTENT
    "${made}#include <cstdint>\n\nnamespace weft::cpu {\n\nenum class Feature : std::uint8_t {\n${features}};\n\n}  // namespace weft::cpu\n")
  file(CONFIGURE OUTPUT ${folder}/cpu/isa_table.h @ONLY CONTENT
    "${made}#include <array>\n#include <cstddef>\n\n#include \"cpu/feature_bits.h\"\n#include \"cpu/isa.h\"\n#include \"cpu/isa_tags.h\"\n\nnamespace weft::cpu {\n
inline constexpr std::array<FeatureBit<CpuidBit>, ${n_CPUID_bits}> kCpuidBits = {{\n${CPUID_BITS}}};\n
inline constexpr std::array<FeatureBit<HwcapBit>, ${n_HWCAP_bits}> kHwcapBits = {{\n${HWCAP_BITS}}};\n
// The first kBuiltSets of them have all kernels.
inline constexpr std::array<InstructionSet, ${n_sets}> kInstructionSets = {\n${rows}};
inline constexpr std::size_t kBuiltSets = ${n_built};\n
template <class Arch>\ninline constexpr std::size_t kIndexOf = 0;\n${indices}
}  // namespace weft::cpu\n")
endfunction()

# Sets `out` to the best set of this machine, or to nothing if it has none.
function(weft_native_set out)
  if(CMAKE_CROSSCOMPILING)
    message(FATAL_ERROR "WEFT_ISAS=native: this build is for another machine; name the instruction sets")
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/native)
  set(WEFT_BUILT_SETS ${WEFT_SETS})
  weft_isa_headers(${folder})
  file(CONFIGURE OUTPUT ${folder}/native.cpp @ONLY CONTENT "#include <cstdio>\n\n#include \"cpu/isa_table.h\"\n
int main() {
  for (const auto& set : weft::cpu::kInstructionSets)
    if (weft::cpu::machine_features().contains(set.needs)) return std::puts(set.name.data()) < 0;
}\n")
  set(cpu ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../backends/src)
  set(base ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../graph/base)
  set(program ${folder}/native)
  if(NOT EXISTS ${program} OR ${folder}/cpu/isa_table.h IS_NEWER_THAN ${program}
     OR ${cpu}/cpu/machine_features.cpp IS_NEWER_THAN ${program} OR ${base}/src/processor.cpp IS_NEWER_THAN ${program})
    try_compile(compiled
      SOURCES ${folder}/native.cpp ${cpu}/cpu/machine_features.cpp ${base}/src/processor.cpp
      CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${folder};${cpu};${base}/include"
      CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
      COPY_FILE ${program} OUTPUT_VARIABLE why NO_CACHE)
    if(NOT compiled)
      message(FATAL_ERROR "WEFT_ISAS=native: cannot compile a program that detects instruction sets:\n${why}")
    endif()
  endif()
  execute_process(COMMAND ${program} OUTPUT_VARIABLE name RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "WEFT_ISAS=native: cannot detect the instruction sets of this machine (${status}): ${program}")
  endif()
  string(STRIP "${name}" name)
  set(${out} ${name} PARENT_SCOPE)
endfunction()

# Sets WEFT_BUILT_SETS from WEFT_ISAS.
function(weft_choose_sets)
  string(REPLACE "," ";" chosen "${WEFT_ISAS}")
  if(chosen STREQUAL "all")
    set(chosen ${WEFT_SETS})
  elseif(chosen STREQUAL "native")
    # Not cached: another machine may continue in this folder.
    set(chosen)
    if(WEFT_SETS)
      weft_native_set(chosen)
    endif()
  endif()
  list(JOIN WEFT_SETS ", " known)
  foreach(isa IN LISTS chosen)
    if(NOT isa IN_LIST WEFT_SETS)
      message(FATAL_ERROR "WEFT_ISAS: unknown instruction set '${isa}' (known: all, native, ${known})")
    endif()
  endforeach()
  set(built)
  foreach(isa IN LISTS WEFT_SETS)
    if(isa IN_LIST chosen OR NOT WEFT_ISA_${isa}_EXTENDS)
      list(APPEND built ${isa})
    endif()
  endforeach()
  set(WEFT_BUILT_SETS ${built} PARENT_SCOPE)
endfunction()
weft_choose_sets()

function(weft_kernel_headers target)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/generated)
  target_include_directories(${target} PRIVATE ${folder})
  set(made "#pragma once\n// Made by cmake/isa.cmake.\n\n")
  weft_isa_headers(${folder})
  # A set without a traits file uses that of the set that it extends.
  set(traits)
  foreach(isa IN LISTS WEFT_SETS)
    if(EXISTS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../backends/src/cpu/simd/${isa}.inl.h)
      string(APPEND traits "#include \"cpu/simd/${isa}.inl.h\"\n")
    endif()
  endforeach()
  foreach(file IN ITEMS sixteen sixteen_avx2 sixteen_avx512 sixteen_neon sixteen_i8mm)
    string(APPEND traits "#include \"cpu/simd/${file}.inl.h\"\n")
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/cpu/simd/simd.inl.h @ONLY CONTENT
    "${made}#include \"cpu/simd/primary.inl.h\"\n${traits}")
  foreach(list KERNEL_LIST WEIGHT_TAGS WEIGHT_INCLUDES WEIGHT_ROWS)
    get_property(${list} TARGET ${target} PROPERTY WEFT_${list})
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/cpu/kernel_list.h @ONLY CONTENT
    "${made}#include \"cpu/isa_tags.h\"\n\nnamespace weft::cpu {\n
template <class... Arch>\nstruct Tags {};\n
template <template <class> class Kernel>\nstruct CompiledFor;\n\n${KERNEL_LIST}\n}  // namespace weft::cpu\n")
  file(CONFIGURE OUTPUT ${folder}/cpu/weight_tags.h @ONLY CONTENT "${made}namespace weft::cpu {\n\n${WEIGHT_TAGS}\n}  // namespace weft::cpu\n")
  file(CONFIGURE OUTPUT ${folder}/cpu/weight_format_list.h @ONLY CONTENT
    "${made}#include \"cpu/kernel_list.h\"\n#include \"cpu/weight_tags.h\"\n${WEIGHT_INCLUDES}\n#define WEFT_WEIGHT_FORMATS(ROW)${WEIGHT_ROWS}\n")
endfunction()
