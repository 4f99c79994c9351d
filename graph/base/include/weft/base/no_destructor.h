#pragma once
// A static value that is never destroyed, because threads may use it while the process ends.
//
//   static const NoDestructor rows(make_rows());
//   for (const Row& row : *rows) ...

#include <cstddef>
#include <new>
#include <utility>

namespace weft {

template <class T>
class NoDestructor {
 public:
  template <class... Args>
  explicit NoDestructor(Args&&... args) {
    ::new (static_cast<void*>(storage_)) T(std::forward<Args>(args)...);
  }
  NoDestructor(const NoDestructor&) = delete;
  NoDestructor& operator=(const NoDestructor&) = delete;

  T& operator*() { return *std::launder(reinterpret_cast<T*>(storage_)); }
  const T& operator*() const { return *std::launder(reinterpret_cast<const T*>(storage_)); }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

 private:
  alignas(T) std::byte storage_[sizeof(T)];
};
template <class T>
NoDestructor(T) -> NoDestructor<T>;

}  // namespace weft
