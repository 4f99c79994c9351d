# The pages of `man` in share/man/man1 of the build folder, written by the programs; none if those
# are for another processor and there is no emulator. Their date is that of the commit, unless
# SOURCE_DATE_EPOCH is set; without both they have none.
set(WEFT_MAN_PAGES ${PROJECT_BINARY_DIR}/share/man/man1)
file(MAKE_DIRECTORY ${WEFT_MAN_PAGES})

set(date $ENV{SOURCE_DATE_EPOCH})
if(NOT date AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} log -1 --format=%ct
    OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
# A sanitizer would slow the build down for pages that nobody installs.
if((NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR) AND NOT WEFT_SANITIZE)
  set(write)
  set(programs weft weft-conform)
  if(NOT WEFT_ONE_PROGRAM)
    list(APPEND programs generate chat)
  endif()
  foreach(program IN ITEMS weft generate chat weft-conform)
    # ${CMAKE_COMMAND} -E env hides the program from CMake, which would add the emulator.
    list(APPEND write COMMAND ${CMAKE_COMMAND} -E env SOURCE_DATE_EPOCH=${date}
      ${CMAKE_CROSSCOMPILING_EMULATOR} ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${program} --man ${WEFT_MAN_PAGES})
  endforeach()
  add_custom_command(OUTPUT ${WEFT_MAN_PAGES}/weft.1 ${write}
    DEPENDS ${programs} COMMENT "Writing the pages of man" VERBATIM)
  add_custom_target(weft_man_pages ALL DEPENDS ${WEFT_MAN_PAGES}/weft.1)
endif()
