#   weft_completion_scripts_header(OUT FOLDER)
# Writes the header with the scripts FOLDER/weft.SHELL, for weft/commands/completion.cpp.
function(weft_completion_scripts_header out folder)
  set(rows)
  foreach(shell IN ITEMS bash zsh fish)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/weft.${shell})
    file(READ ${folder}/weft.${shell} text)
    string(APPEND rows "    {\"${shell}\", R\"script(${text})script\"},\n")
  endforeach()
  file(GENERATE OUTPUT ${out} CONTENT
"#pragma once\n// Made by cmake/completion_scripts.cmake.\n
#include <string_view>\n
namespace weft::tools {\n
struct CompletionScript {
  std::string_view shell, text;
};\n
inline constexpr CompletionScript kCompletionScripts[] = {\n${rows}};\n
}  // namespace weft::tools\n")
endfunction()
