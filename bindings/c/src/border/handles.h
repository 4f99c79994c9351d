#pragma once
// The objects behind handles. A handle is a number in the form of a pointer, which is looked up and
// never dereferenced, so that stale handles are errors.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "weft/base/error.h"

namespace weft::c_api {

// The kinds of handles. Their numbers are part of handles.
enum class Kind : std::uint8_t {
  error,
  canceller,
  model,
  detokenizer,
  grammar,
  constraint,
  sampler,
  session,
  saved,
  generation,
  batch,
  chat,
  chat_plan,
  reply,
  conversation,
  embedder,
  graph,
  computation,
  diffusion,
  config,
  builder,
  speculation,
  count,
};
std::string_view to_string(Kind kind);  // "chat plan"

struct Object {
  explicit Object(Kind of) : kind(of) {}
  virtual ~Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  // Whether its threads are those of a parent process: then it is never destroyed.
  virtual bool is_parents() const { return false; }

  const Kind kind;
};

class HandleError : public Error {
  using Error::Error;
};

// Functions for any thread. Handles of forked processes are copies.
void* add_handle(std::shared_ptr<Object> object);
// Throws HandleError: "not a session", "the session was freed".
std::shared_ptr<Object> find_handle(const void* handle, Kind kind);
// The same, and the handle is stale from now on. Objects of a parent process are kept.
std::shared_ptr<Object> take_handle(const void* handle, Kind kind);

// T has a constant kKind.
template <class T>
std::shared_ptr<T> pin(const void* handle) {
  return std::static_pointer_cast<T>(find_handle(handle, T::kKind));
}

// The number of forks between this process and the first one that used the library.
std::uint32_t process_generation();

}  // namespace weft::c_api
