#   weft_build_facts_header(OUT)
# Writes the header that says how the programs are built, for weft/version.cpp. Without paths of this
# machine: words of flags that have a slash are left out.
include(isa)

# Sets OUT to "oneTBB 2021.8.0, fmt 9.1.0": what CMake knows of the libraries.
function(weft_library_versions out)
  set(wanted TBB fmt xsimd nlohmann_json CLI11 ZLIB)
  if(WEFT_BUILD_SERVER)
    list(APPEND wanted OpenSSL Boost)
  endif()
  set(texts)
  foreach(package IN LISTS wanted)
    find_package(${package} QUIET)
    string(TOUPPER ${package} upper)
    set(versions ${${package}_VERSION} ${${upper}_VERSION} ${${upper}_VERSION_STRING})
    if(versions)
      list(GET versions 0 version)
      string(REPLACE "TBB" "oneTBB" name ${package})
      list(APPEND texts "${name} ${version}")
    endif()
  endforeach()
  list(JOIN texts ", " texts)
  set(${out} "${texts}" PARENT_SCOPE)
endfunction()

function(weft_build_facts_header out)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  list(FILTER flags EXCLUDE REGEX "/")
  list(JOIN flags " " flags)
  string(REGEX REPLACE "[\"\\]" "\\\\\\0" flags "${flags}")
  set(options)
  if(WEFT_HARDENED)
    list(APPEND options hardened)
  endif()
  foreach(option IN ITEMS SANITIZE COVERAGE)
    if(WEFT_${option})
      string(TOLOWER "${option} ${WEFT_${option}}" text)
      list(APPEND options "${text}")
    endif()
  endforeach()
  list(JOIN options ", " options)
  list(JOIN WEFT_BUILT_SETS ", " sets)
  weft_library_versions(libraries)
  file(GENERATE OUTPUT ${out} CONTENT
"#pragma once
#define WEFT_BUILD_COMPILER \"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\"
#define WEFT_BUILD_TYPE \"${CMAKE_BUILD_TYPE}\"
#define WEFT_BUILD_FLAGS \"${flags}\"
#define WEFT_BUILD_OPTIONS \"${options}\"
#define WEFT_BUILD_SETS \"${sets}\"
#define WEFT_BUILD_LIBRARIES \"${libraries}\"
#define WEFT_BUILD_SYSTEM \"${CMAKE_SYSTEM_NAME} ${CMAKE_SYSTEM_PROCESSOR}\"
")
endfunction()
