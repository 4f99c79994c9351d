#pragma once
// The error classes. Libraries never abort, exit or print. They throw one of these, with a message
// that says what went wrong and where, what was expected and what was found. Programs print what()
// and exit with code 1.

#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace weft {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ShapeError : public Error {
  using Error::Error;
};  // a tensor's dimensions do not fit an op or a model
class DTypeError : public Error {
  using Error::Error;
};  // an element type does not fit an op, or is unknown
class FormatError : public Error {
  using Error::Error;
};  // a file, text or message breaks its format
class UnsupportedError : public Error {
  using Error::Error;
};  // well-formed, but nothing here can do it
class ValueError : public Error {
  using Error::Error;
};  // an argument or option outside its range
class IoError : public Error {
  using Error::Error;
};  // the operating system refused a read or a write
class BudgetError : public Error {
  using Error::Error;
};  // it would need more memory than it may use
class CancelledError : public Error {
  using Error::Error;
};  // stopped on request

// Throws E with a formatted message: fail<ShapeError>("w must be [{}], got {}", d, shape).
template <class E, class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw E(fmt::format(text, std::forward<Args>(args)...));
}

// "models/arch/src/llama.cpp:41", the form in which messages and plans name a line of builder code.
std::string to_string(const std::source_location& where);

}  // namespace weft
