# Headers of the standard library and of fmt that most sources include, compiled once per set of
# compiler flags: they are two thirds of the time that a small source takes. No header of this
# project is among them, so a change never rebuilds everything. tools/checks/lone_sources.py does
# without, which proves that sources include what they use.
#
#   weft_precompile(TARGET)               a library, program or test with the usual flags
#   weft_precompile_own(TARGET HEADER...) a target with flags of its own

include_guard(DIRECTORY)
include(CMakeDependentOption)

set(WEFT_PRECOMPILED_HEADERS
  <algorithm> <cmath> <cstdint> <cstring> <functional> <map> <memory> <optional> <span> <string>
  <string_view> <utility> <vector> <fmt/format.h>)
cmake_dependent_option(WEFT_PRECOMPILE "Precompile headers of the standard library" ON
  [[CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang"]] OFF)

# The target whose precompiled headers are for libraries (position-independent code) or for programs
# and tests (position-independent executables, less optimization).
function(weft_precompiled_owner kind out)
  set(owner weft_precompiled_${kind})
  set(${out} ${owner} PARENT_SCOPE)
  if(TARGET ${owner})
    return()
  endif()
  set(source ${PROJECT_BINARY_DIR}/precompiled/${kind}.cpp)
  if(kind STREQUAL library)
    file(CONFIGURE OUTPUT ${source} CONTENT "// Holds precompiled headers.\n")
    add_library(${owner} OBJECT ${source})
  else()
    file(CONFIGURE OUTPUT ${source} CONTENT "// Holds precompiled headers.\nint main() {}\n")
    add_executable(${owner} ${source})
    set_target_properties(${owner} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/precompiled)
    target_link_libraries(${owner} PRIVATE weft_light_optimization)
  endif()
  target_link_libraries(${owner} PRIVATE fmt::fmt weft_compile_options)
  weft_precompile_own(${owner} ${WEFT_PRECOMPILED_HEADERS})
endfunction()

function(weft_precompile target)
  if(NOT WEFT_PRECOMPILE)
    return()
  endif()
  get_target_property(type ${target} TYPE)
  set(kind library)
  if(type STREQUAL EXECUTABLE)
    set(kind program)
  endif()
  weft_precompiled_owner(${kind} owner)
  target_precompile_headers(${target} REUSE_FROM ${owner})
  set_target_properties(${target} PROPERTIES WEFT_PRECOMPILED ON)
endfunction()

function(weft_precompile_own target)
  if(WEFT_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_target_properties(${target} PROPERTIES WEFT_PRECOMPILED ON)
  endif()
endfunction()
