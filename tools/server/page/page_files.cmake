# Writes a source with the files of the page:
#   cmake -DOUT=page_files.cpp -DFOLDER=tools/server/page/files -P page_files.cmake
file(GLOB files ${FOLDER}/*)
set(rows)
foreach(file IN LISTS files)
  cmake_path(GET file FILENAME name)
  file(READ ${file} content)
  string(APPEND rows "    {\"${name}\", R\"weft(${content})weft\"},\n")
endforeach()
file(WRITE ${OUT} "// Made by page_files.cmake from tools/server/page/files.
#include \"weft/page/page.h\"

namespace weft::server {

std::span<const PageFile> page_files() {
  static constexpr PageFile kFiles[] = {
${rows}  };
  return kFiles;
}

}  // namespace weft::server
")
