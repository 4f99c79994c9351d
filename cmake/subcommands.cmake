#   weft_subcommands_header(OUT NAMES...)
# Writes the header that declares the Subcommand kName of every NAME ("trace_diff": kTraceDiff) and
# lists them in this order.
function(weft_subcommands_header out)
  set(constants)
  foreach(name IN LISTS ARGN)
    set(constant k)
    string(REPLACE "_" ";" words ${name})
    foreach(word IN LISTS words)
      string(SUBSTRING ${word} 0 1 initial)
      string(SUBSTRING ${word} 1 -1 rest)
      string(TOUPPER ${initial} initial)
      string(APPEND constant ${initial}${rest})
    endforeach()
    list(APPEND constants ${constant})
  endforeach()
  list(JOIN constants ", &" rows)
  list(JOIN constants ";\nextern const Subcommand " declarations)
  file(CONFIGURE OUTPUT ${out} @ONLY CONTENT
    "#pragma once\n// Made by cmake/subcommands.cmake, for subcommand.h.\n
namespace weft::tools {\n
extern const Subcommand ${declarations};

inline constexpr const Subcommand* kSubcommands[] = {&${rows}};\n
}  // namespace weft::tools\n")
endfunction()
