#include "weft/base/intern.h"

#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "weft/base/fork_mutex.h"
#include "weft/base/no_destructor.h"

namespace weft {

std::string_view intern(std::string_view text) {
  static NoDestructor<ForkMutex> mutex;
  static NoDestructor<std::set<std::string, std::less<>>> texts;
  const std::lock_guard lock(*mutex);
  const auto it = texts->find(text);
  return it != texts->end() ? *it : *texts->emplace(text).first;
}

}  // namespace weft
