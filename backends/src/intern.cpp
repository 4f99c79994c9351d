#include "intern.h"

#include <mutex>
#include <set>

namespace weft::backends {

std::string_view intern(std::string text) {
  static std::mutex mutex;
  static auto& texts = *new std::set<std::string>;  // never destroyed: names outlive every static
                                                    // that may print them
  const std::lock_guard lock(mutex);
  return *texts.insert(std::move(text)).first;
}

}  // namespace weft::backends
