#include "common/terminal.h"

#include <clocale>
#include <cstdlib>

#include <sys/ioctl.h>

namespace weft::cli {

std::size_t terminal_columns(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void set_terminal_locale() {
  const char* locale = std::setlocale(LC_CTYPE, "");
  if (!locale || MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
}

}  // namespace weft::cli
