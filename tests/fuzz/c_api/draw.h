#pragma once
// draw() for every type of argument in weft.h.

#include "c_api/structs.h"

namespace weft_fuzz {

// Structs that the caller sizes and the library fills.
template <class T>
concept Sized = requires(T s) {
  s.struct_size;
};

template <class T>
T number(Frame& f) {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(f.world.number());
  if constexpr (std::is_same_v<T, std::size_t>) return f.size();
  return static_cast<T>(f.world.integer());
}

inline float* floats(Frame& f) {
  const std::size_t n = f.world.byte() < 192 ? 2048 : f.world.byte() % 64;
  auto* all = f.array<float>(n + (n == 0));  // also for one result
  const int step = f.world.byte();
  for (std::size_t i = 0; i < n; ++i)
    all[i] = static_cast<float>(static_cast<int>(i) * step % 31) / 4;
  if (n > 0 && f.world.byte() >= 224)
    all[f.world.byte() % n] = static_cast<float>(f.world.number());
  f.last_size = n;
  return all;
}

template <class T>
weft_error** error_of(Frame& f) {
  f.has_error = true;
  if (f.world.byte() < 240) f.error = f.array<weft_error*>(1);
  return f.error;
}

// weft_X_options* of the functions that set defaults.
template <class T>
T* sized_result(Frame& f) {
  const std::size_t size = struct_size(f, sizeof(T));
  const std::size_t room = std::max(size, sizeof(std::uint32_t));
  void* const memory = f.out(room, {});
  f.last_size = size;
  if (memory) f.set_struct_size(static_cast<std::uint32_t>(size));
  return static_cast<T*>(memory);
}

template <class T>
T* result(Frame& f) {
  constexpr std::size_t kMost = 16;
  using What = Out::What;
  if constexpr (std::is_same_v<T, weft_error*>) {
    return error_of<T>(f);
  } else if constexpr (std::is_same_v<T, weft_text>) {
    return static_cast<T*>(f.out(sizeof(T), {.what = What::text}));
  } else if constexpr (std::is_same_v<T, weft_generation_event>) {
    auto* all = static_cast<T*>(f.out(kMost * sizeof(T), {}));
    const std::size_t size = struct_size(f, sizeof(T));
    for (std::size_t i = 0; all && i < kMost; ++i)
      f.set_struct_size(static_cast<std::uint32_t>(size), i * sizeof(T));
    return all;
  } else if constexpr (Sized<T>) {
    return sized_result<T>(f);
  } else if constexpr (std::is_same_v<T, std::size_t>) {
    return static_cast<T*>(f.out(sizeof(T), {.what = What::size}));
  } else if constexpr (std::is_same_v<T, float>) {
    float* const all = floats(f);
    f.watch(all, f.last_size * sizeof(float));
    return all;
  } else {
    f.last_size = kMost;
    return static_cast<T*>(f.out(kMost * sizeof(T), {}));
  }
}

// T* of a function: a handle, a handle or a pointer that it gives, or another result.
template <class T>
T* pointer(Frame& f) {
  using P = std::remove_pointer_t<T>;
  if constexpr (TypeOf<T>::kIsHandle) {
    return static_cast<T*>(f.world.handle(TypeOf<T>::kType));
  } else if constexpr (std::is_same_v<T, weft_error>) {
    return static_cast<T*>(f.world.handle(Type::model));
  } else if constexpr (std::is_void_v<T>) {
    return f.lends() ? f.lent() : nullptr;
  } else if constexpr (std::is_pointer_v<T> && TypeOf<P>::kIsHandle) {
    return static_cast<T*>(f.out(sizeof(T), {.what = Out::What::handle, .type = TypeOf<P>::kType}));
  } else if constexpr (std::is_pointer_v<T> && !std::is_same_v<T, weft_error*>) {
    std::size_t element = 1;
    if constexpr (!std::is_void_v<P>) element = sizeof(P);
    return static_cast<T*>(f.out(sizeof(T), {.what = Out::What::pointer, .element = element}));
  } else {
    return result<T>(f);
  }
}

// const T* of a function.
template <class T>
const T* given(Frame& f) {
  if constexpr (std::is_same_v<T, char>) {
    return f.world.byte() >= 244 ? nullptr : f.text();
  } else if constexpr (std::is_void_v<T>) {
    return f.data();
  } else if constexpr (std::is_same_v<T, weft_error>) {
    return static_cast<const T*>(f.world.handle(Type::model));
  } else if constexpr (std::is_same_v<T, float>) {
    return floats(f);
  } else if constexpr (std::is_same_v<T, weft_generation*>) {
    T* const all = f.array<T>(1 + f.world.byte() % 4);
    for (std::size_t i = 0; i < f.last_size; ++i)
      all[i] = static_cast<T>(f.world.handle(Type::generation));
    return all;
  } else if constexpr (Sized<T>) {
    return options<T>(f);
  } else {
    return some<T>(f, std::is_class_v<T> ? 4 : 6);
  }
}

template <class T>
T callback(Frame& f) {
  if (f.world.byte() >= 128) return nullptr;
  if constexpr (std::is_same_v<T, weft_progress>) return on_progress;
  if constexpr (std::is_same_v<T, weft_token_progress>) return on_token_progress;
  if constexpr (std::is_same_v<T, weft_on_reply>) return on_reply;
  if constexpr (std::is_same_v<T, void (*)(void*)>) return f.lend(), on_release;
  return nullptr;
}

template <class T>
T draw(Frame& f) {
  if constexpr (!std::is_pointer_v<T>) {
    return number<T>(f);
  } else {
    using To = std::remove_pointer_t<T>;
    if constexpr (std::is_function_v<To>) {
      return callback<T>(f);
    } else if constexpr (std::is_const_v<To>) {
      return given<std::remove_const_t<To>>(f);
    } else {
      return pointer<To>(f);
    }
  }
}

}  // namespace weft_fuzz
