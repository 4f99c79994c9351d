# Installs into the build folder, runs an installed program, and builds a project that uses the
# installed libraries.
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

set(install_c ${CMAKE_CURRENT_BINARY_DIR}/install_c)
add_test(NAME "install: a program in C uses the library"
  COMMAND ${CMAKE_CTEST_COMMAND}
    --build-and-test ${CMAKE_CURRENT_SOURCE_DIR}/install_c ${install_c}
    --build-generator ${CMAKE_GENERATOR}
    --build-options -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_C_COMPILER=${CMAKE_C_COMPILER}
    --test-command ${install_c}/first_text ${PROJECT_SOURCE_DIR}/examples/models/weft-stories.gguf)
add_test(NAME "install: a program in C by pkg-config"
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/install_c/pkg_config.sh
    ${prefix}/${CMAKE_INSTALL_LIBDIR} ${CMAKE_C_COMPILER} ${PROJECT_SOURCE_DIR}/examples/models/weft-stories.gguf)
set_tests_properties("install: a program in C uses the library" "install: a program in C by pkg-config"
  PROPERTIES FIXTURES_REQUIRED installed TIMEOUT 300)

if(Python3_Interpreter_FOUND)
  add_test(NAME "install: binaries" COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/tools/binaries_test.py
    ${prefix} $<$<BOOL:${WEFT_HARDENED}>:--hardened>)
  set_tests_properties("install: binaries" PROPERTIES FIXTURES_REQUIRED installed)
  # An architecture of another project: built, checked, and compared with logits of another engine.
  set(new_architecture ${CMAKE_CURRENT_BINARY_DIR}/new_architecture)
  add_test(NAME "install: a new architecture from outside"
    COMMAND ${CMAKE_CTEST_COMMAND}
      --build-and-test ${PROJECT_SOURCE_DIR}/examples/new_architecture ${new_architecture}
      --build-generator ${CMAKE_GENERATOR}
      --build-options -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
      --test-command ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/new_architecture_test.py ${new_architecture}/granite ${prefix}/${CMAKE_INSTALL_BINDIR})
  set_tests_properties("install: a new architecture from outside" PROPERTIES
    FIXTURES_REQUIRED installed TIMEOUT 600 ENVIRONMENT "WEFT_SOURCE=${PROJECT_SOURCE_DIR};PYTHONDONTWRITEBYTECODE=1")
endif()
set(backend ${CMAKE_CURRENT_BINARY_DIR}/backend_skeleton)
add_test(NAME "install: a backend is built against the package and conforms"
  COMMAND ${CMAKE_CTEST_COMMAND}
    --build-and-test ${PROJECT_SOURCE_DIR}/examples/backend_skeleton ${backend}
    --build-generator ${CMAKE_GENERATOR}
    --build-options -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
    --test-command ${prefix}/${CMAKE_INSTALL_BINDIR}/weft-conform -q ${backend}/libskeleton.so)
set_tests_properties("install: a backend is built against the package and conforms" PROPERTIES
  FIXTURES_REQUIRED installed TIMEOUT 300)

set_tests_properties("install: a program finds the bundled model" "install: another project uses the libraries" PROPERTIES
  FIXTURES_REQUIRED installed TIMEOUT 600)
