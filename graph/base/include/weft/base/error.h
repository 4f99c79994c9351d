#pragma once
// The error classes. Libraries never abort, exit or print. They throw one of these, with a message
// that says what went wrong and where, with the expected and the actual value. Programs print
// what() and exit with code 1.

#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace weft {

// Base class of all errors that Weft throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A tensor's dimensions do not fit an op or a model.
class ShapeError : public Error {
  using Error::Error;
};

// An element type does not fit an op, or is unknown.
class DTypeError : public Error {
  using Error::Error;
};

// A file, text or message is malformed.
class FormatError : public Error {
  using Error::Error;
};

// The request is well-formed, but Weft does not implement it.
class UnsupportedError : public Error {
  using Error::Error;
};

// An argument or option is out of range.
class ValueError : public Error {
  using Error::Error;
};

// The operating system refused a read, a write or an allocation of address space.
class IoError : public Error {
 public:
  explicit IoError(const std::string& message, int os_error = 0)
      : Error(message), os_error_(os_error) {}
  int os_error() const { return os_error_; }  // the system's errno; 0: it gave none

 private:
  int os_error_;
};

// The request needs more memory than it is allowed to use.
class BudgetError : public Error {
  using Error::Error;
};

// What a program takes beside its sessions exceeds what the budget leaves for it (ledger.h): not
// the request's fault, and it may succeed later.
class LedgerError : public BudgetError {
  using BudgetError::BudgetError;
};

// The caller cancelled the work.
class CancelledError : public Error {
  using Error::Error;
};

// Calls f. If it throws one of the errors Es, throws the same type again, with the message
// `reword(message)`.
template <class E, class... Es, class Reword, class F>
auto reword_errors(const Reword& reword, const F& f) {
  try {
    if constexpr (sizeof...(Es) == 0) {
      return f();
    } else {
      return reword_errors<Es...>(reword, f);
    }
  } catch (const E& e) {
    throw E(reword(std::string_view(e.what())));
  }
}

// Throws E with a formatted message: fail<ShapeError>("w must be [{}], got {}", d, shape).
template <class E, class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw E(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace weft
