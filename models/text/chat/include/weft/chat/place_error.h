#pragma once
// Errors that say which part of their input is at fault.

#include <string>
#include <string_view>

#include "weft/base/error.h"

namespace weft {

// what() is "PLACE: PROBLEM".
class PlaceError : public ValueError {
 public:
  PlaceError(std::string place, std::string_view problem)
      : ValueError(fmt::format("{}: {}", place, problem)), place_(std::move(place)) {}
  const std::string& place() const { return place_; }
  std::string_view problem() const { return std::string_view(what()).substr(place_.size() + 2); }

 private:
  std::string place_;
};

// Throws PlaceError, or ValueError if there is no place.
[[noreturn]] inline void fail_in(const std::string& place, const std::string& problem) {
  if (place.empty()) throw ValueError(problem);
  throw PlaceError(place, problem);
}

// Calls f. Its errors become PlaceErrors of `place`, unless they are already, or `place` is empty.
template <class F>
auto in_place(const std::string& place, const F& f) {
  try {
    return f();
  } catch (const PlaceError&) {
    throw;
  } catch (const Error& e) {
    if (place.empty()) throw;
    throw PlaceError(place, e.what());
  }
}

}  // namespace weft
