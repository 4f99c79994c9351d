// A text in one call.

#include <string>

#include "border/arguments.h"
#include "border/call.h"

namespace weft::c_api {
namespace {

// Handles that are freed at the end.
struct Handles {
  weft_session* session = nullptr;
  weft_generation* generation = nullptr;
  Handles() = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    weft_generation_free(generation);
    weft_session_free(session);
  }
};

// The steps of a program that calls the other functions.
weft_status write_all(weft_generation* generation, std::string& text, weft_error** error) {
  weft_generation_event event{.struct_size = sizeof event};
  do {
    if (const auto failed = weft_generation_next(generation, &event, error)) return failed;
    if (const auto failed = call(error, [&] { text.append(event.text, event.text_size); }))
      return failed;
  } while (event.stop == WEFT_STOP_NONE);
  if (event.stop != WEFT_STOP_CANCELLED) return WEFT_SUCCESS;
  return weft_error_make(WEFT_ERROR_CANCELLED, "the text was cancelled", error);
}

}  // namespace
}  // namespace weft::c_api

using namespace weft::c_api;

weft_status weft_generate_text(weft_model* model, const weft_session_options* session,
                               const char* prompt, size_t size,
                               const weft_generation_options* options, weft_text* text,
                               weft_error** error) {
  std::string written;
  Handles made;
  weft_status status = call(error, [&] { required(text, "text"); });
  if (!status) status = weft_session_open(model, session, &made.session, error);
  if (!status) status = weft_generation_open(made.session, 0, options, &made.generation, error);
  if (!status) status = weft_generation_begin_text(made.generation, prompt, size, error);
  if (!status) status = write_all(made.generation, written, error);
  return status ? status : call(error, [&] { write_text(text, written); });
}
