#pragma once
// The page at /, its files, and the server's state that it shows.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/api/endpoints.h"
#include "weft/page/draw_plan.h"

namespace weft::server {

struct Operations;

struct PageFile {
  std::string_view name, content;
};
// Those of tools/server/page, embedded when the program was built (page_files.cmake).
std::span<const PageFile> page_files();

// Paths of files that the page loads before it can send a key.
const std::vector<std::string>& page_paths();

// `show_page`: else / answers with a line of text. `operations` outlives the endpoints. Without
// `draw_plan` there is no /ui/plan.
std::vector<api::Endpoint> page_endpoints(const Operations& operations, bool show_page,
                                          const DrawPlan& draw_plan);

}  // namespace weft::server
