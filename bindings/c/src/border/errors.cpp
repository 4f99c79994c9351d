// Errors, texts and versions.

#include <cstdlib>
#include <memory>
#include <string>

#include "weft/base/printable.h"
#include "weft/base/utf8.h"

#include "border/arguments.h"
#include "border/call.h"

namespace weft::c_api {
namespace {

struct ErrorObject : Object {
  static constexpr Kind kKind = Kind::error;
  ErrorObject(weft_status of, std::string text, int os)
      : Object(kKind), status(of), message(std::move(text)), os_error(os) {}

  const weft_status status;
  const std::string message;
  const int os_error;
};

// Null for NULL and stale handles.
std::shared_ptr<ErrorObject> error_of(const weft_error* error) noexcept {
  if (!error) return nullptr;  // bindings ask after every call
  try {
    return pin<ErrorObject>(error);
  } catch (...) {
    return nullptr;
  }
}

constexpr const char* kStatusNames[] = {"success",     "argument", "format",  "shape",  "dtype",
                                        "unsupported", "io",       "budget",  "memory", "cancelled",
                                        "nan",         "handle",   "busy",    "forked", "closed",
                                        "callback",    "capacity", "internal"};
static_assert(std::size(kStatusNames) == WEFT_ERROR_INTERNAL + 1);

}  // namespace

weft_error* make_error(weft_status status, std::string message, int os_error) {
  if (!is_utf8(message)) message = printable(message, message.size());
  return handle_of<weft_error>(std::make_shared<ErrorObject>(status, std::move(message), os_error));
}

}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

const char* weft_status_name(weft_status status) {
  const auto i = static_cast<std::size_t>(status);
  return i < std::size(kStatusNames) ? kStatusNames[i] : "unknown";
}

const char* weft_error_message(const weft_error* error) {
  const auto e = error_of(error);
  return e ? e->message.c_str() : "";
}

weft_status weft_error_status(const weft_error* error) {
  const auto e = error_of(error);
  return e ? e->status : WEFT_SUCCESS;
}

int32_t weft_error_os_error(const weft_error* error) {
  const auto e = error_of(error);
  return e ? e->os_error : 0;
}

void weft_error_free(weft_error* error) {
  if (!error) return;
  try {
    take_handle(error, Kind::error);
  } catch (const HandleError&) {
    return;  // it was freed
  }
}

weft_status weft_error_make(weft_status status, const char* message, weft_error** error) {
  try {
    if (error) *error = make_error(status, message ? message : "", 0);
  } catch (...) {
    return status;  // there is no memory for the message
  }
  return status;
}

void weft_text_free(weft_text* text) {
  if (!text) return;
  std::free(text->data);
  *text = {nullptr, 0};
}

uint32_t weft_api_version(void) {
  return 1000 * WEFT_API_VERSION_MAJOR + WEFT_API_VERSION_MINOR;
}

const char* weft_version(void) {
  return WEFT_VERSION;
}
