# Installs into the build folder, runs an installed program, and builds a project that uses the installed libraries.
set(prefix ${CMAKE_CURRENT_BINARY_DIR}/prefix)

add_test(NAME "install: files" COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --prefix ${prefix})
set_tests_properties("install: files" PROPERTIES FIXTURES_SETUP installed)

add_test(NAME "install: a program finds the bundled model" COMMAND ${prefix}/${CMAKE_INSTALL_BINDIR}/generate -n 1)

set(consumer ${CMAKE_CURRENT_BINARY_DIR}/consumer)
add_test(NAME "install: another project uses the libraries"
  COMMAND ${CMAKE_CTEST_COMMAND}
    --build-and-test ${CMAKE_CURRENT_SOURCE_DIR}/install_consumer ${consumer}
    --build-generator ${CMAKE_GENERATOR}
    --build-options -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
    --test-command ${consumer}/consumer ${PROJECT_SOURCE_DIR}/examples/models/weft-stories.gguf)

set_tests_properties("install: a program finds the bundled model" "install: another project uses the libraries" PROPERTIES
  FIXTURES_REQUIRED installed TIMEOUT 600)
