#include <algorithm>
#include <array>

#include <unistd.h>

#include "weft/base/text.h"
#include "weft/http/access.h"

namespace weft::http {

std::vector<std::string> names_of_this_machine() {
  // The last two are the names of this machine in its containers.
  std::vector<std::string> names{"localhost",
                                 "127.0.0.1",
                                 "[::1]",
                                 "localhost.localdomain",
                                 "host.docker.internal",
                                 "host.containers.internal"};
  std::array<char, 256> name = {};
  if (::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0')
    names.emplace_back(name.data());
  return names;
}

bool is_loopback(std::string_view host) {
  const bool digits =
      std::all_of(host.begin(), host.end(), [](char c) { return is_digit(c) || c == '.'; });
  if (host.starts_with("127.") && digits) return true;
  return equals_ignoring_case(host, "localhost") || host == "::1" || host == "[::1]";
}

}  // namespace weft::http
