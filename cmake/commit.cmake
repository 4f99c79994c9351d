# cmake -D SOURCE=DIR -D OUT=FILE -P commit.cmake
# Writes a header with WEFT_COMMIT: the commit of a git checkout, with "+" if files differ from it;
# "" for other sources, such as those of a release. An unchanged header keeps its time.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed OR NOT EXISTS ${SOURCE}/.git)
  set(commit)
else()
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no
    OUTPUT_VARIABLE changed ERROR_QUIET)
  if(changed)
    string(APPEND commit "+")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#pragma once\n#define WEFT_COMMIT \"${commit}\"\n" @ONLY)
