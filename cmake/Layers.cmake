# The layers and their order.
#
#   weft_layer(NAME [NOT_INSTALLED] SOURCES ... [DEPENDS layers...]
#     [PRIVATE_LIBRARIES ...] [PUBLIC_LIBRARIES ...])
#
# makes the static library weft_NAME (alias weft::NAME) with public headers in include/ (weft/NAME/)
# and private sources in src/. A dependency on a layer that is not below is a configuration error. A
# forbidden #include does not compile, because include folders come only with declared dependencies.

#   weft_add_layers([NAME=FOLDER ...])
#
# adds those folders of the list (WEFT_LAYERS without arguments) that are in or below the current
# folder, in their order. A folder of layers that is none itself (models, models/text) has a
# CMakeLists.txt that calls this again.

# NAME=FOLDER, low to high. tests/layers and tools/coverage_report.py read these lists, too.
set(WEFT_LAYERS
  base=graph/base
  graph=graph
  draw=graph/draw
  ops=ops
  backends=backends
  scheduler=scheduler
  tokenize=models/text/tokenize
  sample=models/text/sample
  template=models/text/template
  grammar=models/text/grammar
  reply=models/text/reply
  chat=models/text/chat
  arch=models/arch
  files=models/files
  quantize=models/quantize
  adapters=models/adapters
  run=models/run
  serve=models/serve
  measure=models/measure
  check=models/check
  c_api=bindings/c)
# The layers of the server, above all others. They are built with the programs.
set(WEFT_SERVER_LAYERS
  http=tools/server/http
  api=tools/server/api/core
  openai=tools/server/api/openai
  responses=tools/server/api/responses
  anthropic=tools/server/api/anthropic
  ollama=tools/server/api/ollama
  native=tools/server/api/native
  hosting=tools/server/hosting
  page=tools/server/page
  program=tools/server/program)
set(WEFT_LAYER_NAMES ${WEFT_LAYERS} ${WEFT_SERVER_LAYERS})
list(TRANSFORM WEFT_LAYER_NAMES REPLACE "=.*" "")

function(weft_add_layers)
  set(folders ${ARGN})
  if(NOT folders)
    set(folders ${WEFT_LAYERS})
  endif()
  list(TRANSFORM folders REPLACE ".*=" "")
  set(added)
  set(last)
  foreach(folder IN LISTS folders)
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE path)
    cmake_path(IS_PREFIX CMAKE_CURRENT_SOURCE_DIR ${path} is_below)
    if(NOT is_below OR path STREQUAL CMAKE_CURRENT_SOURCE_DIR)
      continue()
    endif()
    # The topmost folder of layers on the way, or the layer's own.
    cmake_path(GET folder PARENT_PATH group)
    while(group AND NOT group IN_LIST folders AND NOT CMAKE_CURRENT_SOURCE_DIR STREQUAL "${PROJECT_SOURCE_DIR}/${group}")
      set(folder ${group})
      cmake_path(GET group PARENT_PATH group)
    endwhile()
    if(folder STREQUAL last)
      continue()
    elseif(folder IN_LIST added)
      message(FATAL_ERROR "layers of ${folder} must follow each other in WEFT_LAYERS")
    endif()
    add_subdirectory(${PROJECT_SOURCE_DIR}/${folder} ${PROJECT_BINARY_DIR}/${folder})
    list(APPEND added ${folder})
    set(last ${folder})
  endforeach()
endfunction()

function(weft_layer name)
  cmake_parse_arguments(ARG "NOT_INSTALLED" "" "DEPENDS;SOURCES;PRIVATE_LIBRARIES;PUBLIC_LIBRARIES" ${ARGN})
  list(FIND WEFT_LAYER_NAMES ${name} own_rank)
  if(own_rank LESS 0)
    message(FATAL_ERROR "'${name}' is not a layer; the layers are ${WEFT_LAYER_NAMES}")
  endif()
  foreach(dependency IN LISTS ARG_DEPENDS)
    list(FIND WEFT_LAYER_NAMES ${dependency} rank)
    if(rank LESS 0 OR NOT rank LESS own_rank)
      message(FATAL_ERROR
        "layer '${name}' may not depend on '${dependency}': arrows go down only (${WEFT_LAYER_NAMES})")
    endif()
  endforeach()

  add_library(weft_${name} STATIC ${ARG_SOURCES})
  add_library(weft::${name} ALIAS weft_${name})
  set_target_properties(weft_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(weft_${name}
    PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE src)
  target_compile_features(weft_${name} PUBLIC cxx_std_20)
  list(TRANSFORM ARG_DEPENDS PREPEND weft:: OUTPUT_VARIABLE dependencies)
  target_link_libraries(weft_${name}
    PUBLIC ${dependencies} ${ARG_PUBLIC_LIBRARIES}
    PRIVATE $<BUILD_INTERFACE:weft_compile_options> ${ARG_PRIVATE_LIBRARIES})
  weft_precompile(weft_${name})
  weft_check_headers(${name})
  if(NOT ARG_NOT_INSTALLED)
    set_property(GLOBAL APPEND PROPERTY WEFT_BUILT_LAYERS ${name})
    set_property(GLOBAL APPEND PROPERTY WEFT_BUILT_INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/include/weft)
  endif()
endfunction()

# Every public header must compile on its own. Sources that are compiled alone check this for the
# header that they include first; for each other header, a source is generated.
function(weft_check_headers name)
  if(NOT WEFT_BUILD_TESTS OR WEFT_SANITIZE OR WEFT_UNITY)
    return()
  endif()
  get_target_property(sources weft_${name} SOURCES)
  set(proven)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source)
    if(NOT EXISTS ${source})
      continue()  # made by the build
    endif()
    file(STRINGS ${source} first LIMIT_COUNT 1 REGEX "^ *# *include")
    string(REGEX REPLACE ".*[\"<](.*)[\">].*" "\\1" first "${first}")
    list(APPEND proven ${first})
  endforeach()
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/include
    ${CMAKE_CURRENT_SOURCE_DIR}/include/*.h)
  set(sources)
  foreach(header IN LISTS headers)
    if(header IN_LIST proven)
      continue()
    endif()
    string(MAKE_C_IDENTIFIER ${header} id)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${id}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n")
    list(APPEND sources ${source})
  endforeach()
  if(sources)
    add_library(weft_${name}_headers OBJECT ${sources})
    target_link_libraries(weft_${name}_headers PRIVATE weft_${name} weft_compile_options)
  endif()
endfunction()

#   weft_tests(NAME SOURCES ... LIBRARIES ...)
#
# makes a doctest binary. Each test case is a CTest test; with a sanitizer the whole binary is one.
function(weft_tests name)
  if(NOT WEFT_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES;PROPERTIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} weft_test_main)
  weft_precompile(${name})
  set(timeout 300)
  if(WEFT_SANITIZE OR WEFT_COVERAGE)
    set(timeout 1200)  # ThreadSanitizer on the scalar reference; long texts without optimization
  endif()
  set(properties TIMEOUT ${timeout} ENVIRONMENT WEFT_CHECK_PLANS=1
    FAIL_REGULAR_EXPRESSION "cases:[^0-9]*0[^0-9]" ${ARG_PROPERTIES})
  if(WEFT_SANITIZE)
    # Sanitized programs start slowly: all test cases in one process.
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES ${properties})
  else()
    # A name with a semicolon reaches the program truncated, selects no test, and would pass.
    doctest_discover_tests(${name} TEST_PREFIX "${name}: " PROPERTIES ${properties})
  endif()
endfunction()
