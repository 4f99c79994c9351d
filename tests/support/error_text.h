#pragma once
// For tests of messages.

#include <string>

#include "weft/base/error.h"

namespace weft::test {

// The message of the error that f throws; "no error" if it throws none.
inline std::string text_of(auto f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace weft::test
