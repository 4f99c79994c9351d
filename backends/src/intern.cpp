#include "intern.h"

#include <mutex>
#include <set>

#include "weft/base/fork_mutex.h"
#include "weft/base/no_destructor.h"

namespace weft::backends {

std::string_view intern(std::string text) {
  static NoDestructor<ForkMutex> mutex;
  static NoDestructor<std::set<std::string>> texts;
  const std::lock_guard lock(*mutex);
  return *texts->insert(std::move(text)).first;
}

}  // namespace weft::backends
