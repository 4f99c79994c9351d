# Compiler settings for every target of this project; none of them is exported.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12
   OR CMAKE_CXX_COMPILER_ID MATCHES Clang AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, but GCC 12 or clang 16 is required: set CXX=g++ and remove ${CMAKE_BINARY_DIR}")
endif()

# Only kernels (isa.cmake) and models/text are compiled with -O3.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

# Batches compile in a third of the time: the compiler parses headers and instantiates templates once
# for eight sources. So names in anonymous namespaces are unique in a library, unless a convention
# gives those of many sources the same name (weft_compile_alone). tools/checks/lone_sources.py
# compiles each source alone, without precompiled headers, to find missing includes.
option(WEFT_UNITY "Compile sources in batches" ON)
set(CMAKE_UNITY_BUILD ${WEFT_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)

#   weft_compile_alone(TARGETS target...)   no batches
#   weft_compile_alone(SOURCES file...)     these are in none
function(weft_compile_alone kind)
  if(kind STREQUAL TARGETS)
    set_target_properties(${ARGN} PROPERTIES UNITY_BUILD OFF)
  else()
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

# Clones of the repository share ccache's results, because it sees paths relative to the root.
find_program(WEFT_CCACHE ccache)
find_program(WEFT_ENV env)
if(WEFT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # It fails where it cannot write, for example in a home folder that is read-only.
  string(TIMESTAMP now "%s%f")  # what was not compiled before must be written
  file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/ccache.cpp "int main() { return sizeof(\"${now}\") > 0; }\n")
  execute_process(COMMAND ${WEFT_CCACHE} ${CMAKE_CXX_COMPILER} -c ccache.cpp -o ccache.o
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/CMakeFiles RESULT_VARIABLE unusable ERROR_VARIABLE why OUTPUT_QUIET)
  if(unusable)
    string(STRIP "${why}" why)
    message(STATUS "Building without ccache: ${why}")
    set(WEFT_CCACHE FALSE)
  endif()
endif()
if(WEFT_CCACHE AND WEFT_ENV AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${WEFT_ENV} CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros ${WEFT_CCACHE})
endif()

add_library(weft_compile_options INTERFACE)
# Designated initializers omit members on purpose, which -Wextra reports.
target_compile_options(weft_compile_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-missing-field-initializers>)
# The compiler must not fuse multiply-adds: which ones are fused is part of a kernel's definition
# (same bits everywhere).
target_compile_options(weft_compile_options INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wundef -Wnon-virtual-dtor -ffp-contract=off)
# GCC 12 does not treat precompiled code as that of the system, and reports false positives in the
# optimized std::string.
set(noise -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
target_compile_options(weft_compile_options INTERFACE
  "$<$<BOOL:$<TARGET_PROPERTY:WEFT_PRECOMPILED>>:${noise}>")
# In a batch, GCC treats a class with members from an anonymous namespace as one in a header.
target_compile_options(weft_compile_options INTERFACE
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wno-subobject-linkage>)
# char has a sign, as on x86, also where compilers default to none.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(weft_compile_options INTERFACE -fsigned-char)
endif()
# Binaries must not contain the path of the source tree: error messages name files relative to the
# root. ccache with a base directory passes relative names to the compiler, hence the second form.
file(RELATIVE_PATH root_from_build ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR})
target_compile_options(weft_compile_options INTERFACE
  "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=" "-fmacro-prefix-map=${root_from_build}=")

# For tests and programs, which compute little: compiles in half the time.
add_library(weft_light_optimization INTERFACE)
target_compile_options(weft_light_optimization INTERFACE $<$<NOT:$<CONFIG:Debug>>:-O1>)

if(WEFT_SANITIZE)
  target_compile_options(weft_compile_options INTERFACE
    -fsanitize=${WEFT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # oneTBB's flow graph casts to the type of a task before the task is constructed.
  target_compile_options(weft_compile_options INTERFACE -fno-sanitize=vptr)
  target_link_options(weft_compile_options INTERFACE -fsanitize=${WEFT_SANITIZE})
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # clang does not know some GCC switches. It obeys the last switch, so these come after -Wextra.
  # In a batch, it also takes the names of other sources for shadowed ones.
  target_compile_options(weft_compile_options INTERFACE -Wno-unknown-warning-option -Wno-missing-field-initializers
    $<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:-Wno-shadow>)
endif()
if(WEFT_COVERAGE)
  # Workers count the same lines: without atomic counters some are negative, which gcovr rejects.
  # Not --coverage: GCC moves what it stands for to the end, where kernels cannot switch it off.
  target_compile_options(weft_compile_options INTERFACE
    -fprofile-arcs -ftest-coverage -fprofile-update=atomic)
  target_link_options(weft_compile_options INTERFACE --coverage)
endif()
if(WEFT_BUILD_FUZZERS)
  # Every library reports its branches to the fuzzer; only the targets in tests/fuzz link its main.
  target_compile_options(weft_compile_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
include(Hardening)
