# `cmake --install` and find_package(weft).
#
# After `cmake --install build/release --prefix P`: P/bin has the programs, P/share/weft/models the
# bundled models, P/share/man the pages of man, P/share/{bash-completion,zsh,fish} completions for
# shells, P/include/weft the headers, P/lib the static libraries. Use them in another project:
#   find_package(weft REQUIRED)
#   target_link_libraries(mine PRIVATE weft::models)
#
# The C API, libweft.so, is the component `c`, which needs no other library:
#   find_package(weft REQUIRED COMPONENTS c)
#   target_link_libraries(mine PRIVATE weft::weft)
#
# The layers of the server are the component `server`, which needs more libraries:
#   find_package(weft REQUIRED COMPONENTS server)
#   target_link_libraries(mine PRIVATE weft::server)
#
# Packages consist of these components of `cmake --install --component`: `programs`, `plugins`,
# `library` (libweft.so.1), `c_headers` (all that C programs and plug-ins are built with), `python`.
include(CMakePackageConfigHelpers)

set(WEFT_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
get_property(WEFT_BUILT GLOBAL PROPERTY WEFT_BUILT_LAYERS)
get_property(WEFT_SERVER GLOBAL PROPERTY WEFT_BUILT_SERVER_LAYERS)
list(REMOVE_ITEM WEFT_BUILT "" ${WEFT_SERVER})
list(TRANSFORM WEFT_BUILT PREPEND weft_ OUTPUT_VARIABLE WEFT_LIBRARIES)

# The C header for backends outside of this tree.
add_library(weft_backend_abi INTERFACE)
set_target_properties(weft_backend_abi PROPERTIES EXPORT_NAME backend_abi)
target_include_directories(weft_backend_abi INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS weft_backend_abi EXPORT weft_c)

install(TARGETS ${WEFT_LIBRARIES} weft_models EXPORT weft ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
get_property(WEFT_INCLUDES GLOBAL PROPERTY WEFT_BUILT_INCLUDES)
foreach(folder IN LISTS WEFT_INCLUDES)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
endforeach()

install(EXPORT weft NAMESPACE weft:: FILE weftTargets.cmake DESTINATION ${WEFT_CMAKE_DIR})
install(EXPORT weft_c NAMESPACE weft:: FILE weftCTargets.cmake DESTINATION ${WEFT_CMAKE_DIR} COMPONENT c_headers)
if(TARGET weft_server)
  list(TRANSFORM WEFT_SERVER PREPEND weft_)
  install(TARGETS ${WEFT_SERVER} weft_server EXPORT weft_server ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT weft_server NAMESPACE weft:: FILE weftServerTargets.cmake DESTINATION ${WEFT_CMAKE_DIR})
endif()
configure_package_config_file(cmake/weftConfig.cmake.in ${PROJECT_BINARY_DIR}/weftConfig.cmake
  INSTALL_DESTINATION ${WEFT_CMAKE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weftConfig.cmake ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake
  DESTINATION ${WEFT_CMAKE_DIR} COMPONENT c_headers)
install(FILES bindings/c/include/weft/weft.h bindings/c/include/weft/initializers.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft COMPONENT c_headers)
install(FILES backends/include/weft/backends/abi.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft/backends
  COMPONENT c_headers)

# Where launched_communicator() looks for them.
foreach(mpi IN ITEMS openmpi mpich)
  if(TARGET weft_transport_${mpi})
    install(TARGETS weft_transport_${mpi} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/weft COMPONENT plugins)
  endif()
endforeach()
if(TARGET weft_opencl)
  install(TARGETS weft_opencl LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/weft/backends COMPONENT plugins)
endif()

if(WEFT_BUILD_PROGRAMS)
  set(programs weft generate chat)
  if(WEFT_ONE_PROGRAM)
    set(programs weft)
    foreach(name IN ITEMS generate chat)
      install(FILES ${PROJECT_BINARY_DIR}/bin/${name} DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
    endforeach()
  endif()
  # They bring their libraries along in a wheel, also those that these libraries need.
  foreach(program IN LISTS programs)
    target_link_options(${program} PRIVATE -Wl,--disable-new-dtags)
  endforeach()
  install(TARGETS ${programs} weft-conform RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
  install(DIRECTORY examples/models DESTINATION ${CMAKE_INSTALL_DATADIR}/weft COMPONENT programs
    FILES_MATCHING PATTERN "*.gguf")
  install(DIRECTORY ${PROJECT_BINARY_DIR}/share/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT programs
    FILES_MATCHING PATTERN "*.1")
  # Shells look for a file with the name of the program; zsh reads those of all programs from one.
  set(scripts tools/weft/completion)
  foreach(program IN ITEMS weft generate chat)
    install(FILES ${scripts}/weft.bash RENAME ${program} COMPONENT programs
      DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${scripts}/weft.fish RENAME ${program}.fish COMPONENT programs
      DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endforeach()
  install(FILES ${scripts}/weft.zsh RENAME _weft COMPONENT programs
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()

# The component `python` is the package, which bindings/python/backend puts into a wheel.
if(WEFT_BUILD_PYTHON)
  set(wheel COMPONENT python EXCLUDE_FROM_ALL)
  install(TARGETS weft_shared LIBRARY DESTINATION weft/lib NAMELINK_SKIP ${wheel})
  install(DIRECTORY ${PROJECT_BINARY_DIR}/python/weft DESTINATION . ${wheel}
    PATTERN "*.so" EXCLUDE PATTERN "lib" EXCLUDE PATTERN "__pycache__" EXCLUDE)
  if(WEFT_BUILD_PROGRAMS)
    install(TARGETS ${programs} RUNTIME DESTINATION weft/bin ${wheel})
  endif()
endif()

# What packages hold, and nothing else: tools/package.sh builds it.
add_custom_target(weft_packaged DEPENDS weft_shared)
foreach(target IN ITEMS weft weft-conform generate chat weft_man_pages weft_opencl weft_transport_openmpi
    weft_transport_mpich weft_python_files)
  if(TARGET ${target})
    add_dependencies(weft_packaged ${target})
  endif()
endforeach()
