#pragma once
// Forms that the requests of several interfaces share (forms.h).

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/api/forms.h"
#include "weft/chat/tools.h"

namespace weft::api {

// `form` with its result passed through f, which may refuse it: T f(V, const Path&).
template <class T, class V, class F>
Form<T> checked(Form<V> form, F f) {
  return {form.expected, form.schema, form.types,
          [read = std::move(form.read), f](const Json& json, const Path& path) -> T {
            return f(read(json, path), path);
          }};
}

// Throws ApiError 400 if the member `name` at `path` is absent.
template <class T>
void require(const std::optional<T>& value, std::string_view name, const Path& path) {
  if (!value) refuse(path.member(name), "is required");
}

// Variables that templates read for it: enable_thinking and thinking, as a JSON object.
std::string thinking_kwargs(bool think);
// The same for how much to think: reasoning_effort, and no thinking for "none". Empty if the effort
// is.
std::string effort_kwargs(std::string_view effort);

// A function that the request describes at `path`. Throws ApiError for a wrong name. `parameters`:
// JSON Schema; empty: none.
struct FunctionText {
  std::string name, description, parameters;
  bool strict = false;
};
ChatTool make_tool(const FunctionText& function, const Path& path);

}  // namespace weft::api
