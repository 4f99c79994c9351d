#pragma once
// The arguments of one call by their types, and what the contract says about the call.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "weft/weft.h"

#include "c_api/world.h"

namespace weft_fuzz {

// Memory that a call may write. Without success it stays as it was.
struct Out {
  enum class What { other, handle, text, pointer, size };
  What what = What::other;
  Type type = Type::count;
  std::size_t element = 1;  // bytes of what a pointer points to; 0: a text that ends with a NUL
  void* data = nullptr;
  std::string before;
};

class Frame {
 public:
  Frame(World& of, Words first, Words rest) : world(of), words_{first, rest} {}
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame();

  // Memory of exactly that many bytes, until the frame ends.
  void* allocate(std::size_t size);
  template <class T>
  T* array(std::size_t n) {
    last_size = n;
    return static_cast<T*>(allocate(n * sizeof(T)));
  }
  // Memory for results; seldom NULL.
  void* out(std::size_t size, Out how);
  // Writes the size that a struct for results begins with.
  void set_struct_size(std::uint32_t size, std::size_t at = 0);
  // Memory with values that only a success may change.
  void watch(void* data, std::size_t size);
  // A size for the last array: mostly its own, never above it, or one that no array has.
  std::size_t size();
  const char* c_string(Words from);
  // The next text of a function, from its words.
  const char* text();
  const char* c_string_or_null(Words from) { return world.byte() < 128 ? nullptr : c_string(from); }
  // Gives the bytes to the callback that releases them.
  const void* data();
  bool lends() const { return lends_; }
  void lend() { lends_ = true; }
  void* lent() const { return lent_; }

  void check(weft_status status);
  void check_success();
  void check_failure(weft_status status);

  World& world;
  std::size_t last_size = 0;
  bool has_error = false;  // the function can give one
  weft_error** error = nullptr;

 private:
  const Words words_[2];
  std::size_t texts_ = 0;

  void take(const Out& out);
  void touch(const Out& pointer, std::size_t n);

  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<Out> outs_;
  void* lent_ = nullptr;
  bool lends_ = false;
  volatile unsigned char read_ = 0;  // so that reads stay
};

// An argument of type T.
template <class T>
T draw(Frame& f);

// Calls a function with arguments that the input chooses.
template <class R, class... A>
void call(Frame& f, R (*function)(A...)) {
  std::tuple<A...> arguments{draw<A>(f)...};
  if constexpr (std::is_same_v<R, weft_status>) {
    f.check(std::apply(function, arguments));
  } else {
    std::apply(function, arguments);
  }
}

}  // namespace weft_fuzz
