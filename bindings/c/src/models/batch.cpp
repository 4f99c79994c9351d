#include <algorithm>
#include <string>
#include <vector>

#include "border/arguments.h"
#include "border/call.h"
#include "models/generation.h"

namespace weft::c_api {
namespace {

struct BatchObject : Object {
  static constexpr Kind kKind = Kind::batch;
  explicit BatchObject(std::shared_ptr<SessionObject> of)
      : Object(kKind), session(std::move(of)), batch(session->session) {}
  bool is_parents() const override { return session->is_parents(); }

  const std::shared_ptr<SessionObject> session;
  Batch batch;
  // The texts of a step, kept to save allocations.
  std::vector<std::shared_ptr<GenerationObject>> pinned;
  std::vector<Generation*> generations;
};

// Events of the caller's version, each as large as the first one says.
class EventArray {
 public:
  EventArray(weft_generation_event* events, std::size_t n) : events_(events) {
    check_array(events, n, sizeof *events, "events");
    if (n > 0) size_ = events->struct_size;
    for (std::size_t i = 0; i < n; ++i) {
      check_output(&(*this)[i], "weft_generation_event");
      if ((*this)[i].struct_size != size_)
        fail<ValueError>(
            "weft_generation_event: the struct_size of event {} is {}, of the first {}", i,
            (*this)[i].struct_size, size_);
    }
  }
  weft_generation_event& operator[](std::size_t i) const {
    auto* bytes = reinterpret_cast<std::byte*>(events_) + i * size_;
    return *reinterpret_cast<weft_generation_event*>(bytes);
  }

 private:
  weft_generation_event* events_;
  std::size_t size_ = 0;
};

// Lets go of the generations at the end of a step.
struct Unpin {
  BatchObject& batch;
  explicit Unpin(BatchObject& of) : batch(of) {}
  ~Unpin() { batch.pinned.clear(); }
  Unpin(const Unpin&) = delete;
  Unpin& operator=(const Unpin&) = delete;
};

void pin_all(BatchObject& b, std::span<weft_generation* const> handles) {
  b.pinned.clear();
  b.generations.clear();
  for (std::size_t i = 0; i < handles.size(); ++i) {
    const auto& object = b.pinned.emplace_back(pin<GenerationObject>(handles[i]));
    if (object->session != b.session)
      fail<ValueError>("generation {} belongs to another session than the batch", i);
    b.generations.push_back(object->generation.get());
  }
}

// The status of an exception as a negative number, and its message in the event.
std::int32_t give_failure(const std::exception_ptr& failure, GenerationObject& object,
                          weft_generation_event* out) {
  weft_error* error = nullptr;
  const weft_status status = call(&error, [&] { std::rethrow_exception(failure); });
  const std::string message = weft_error_message(error);
  weft_error_free(error);
  give_event({.text = message}, object, out);
  return -status;
}

}  // namespace
}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_batch_open(weft_session* session, weft_batch** batch, weft_error** error) {
  return call(error, [&] {
    required(batch, "batch");
    *batch = handle_of<weft_batch>(std::make_shared<BatchObject>(pin<SessionObject>(session)));
  });
}

weft_status weft_batch_step(weft_batch* batch, weft_generation* const* generations, size_t n,
                            weft_generation_event* events, int32_t* has_event, weft_error** error) {
  return call(error, [&] {
    const auto b = pin<BatchObject>(batch);
    const UsedSession session(b->session);
    const auto handles = array(generations, n, "generations");
    check_array(has_event, n, sizeof *has_event, "has_event");
    const EventArray out(events, n);
    const Unpin unpin{*b};
    pin_all(*b, handles);
    const auto step = b->batch.step(b->generations, &session.cancelled());
    if (b->batch.was_cancelled()) fail<CancelledError>("the step was cancelled");
    mark_warm();
    std::fill_n(has_event, n, 0);
    for (const Batch::Event& e : step) {
      const auto i = static_cast<std::size_t>(std::ranges::find(b->generations, e.generation) -
                                              b->generations.begin());
      if (e.error) {
        has_event[i] = give_failure(e.error, *b->pinned[i], &out[i]);
      } else {
        give_event(e.event, *b->pinned[i], &out[i]);
        has_event[i] = 1;
      }
    }
  });
}

weft_status weft_batch_free(weft_batch* batch) {
  return free_handle<BatchObject>(batch);
}
