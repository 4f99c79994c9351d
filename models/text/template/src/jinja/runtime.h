#pragma once
// What native functions work with while a template is rendered.

#include <ctime>
#include <optional>

#include "jinja/value.h"

namespace weft::jinja {

struct Runtime {
  Runtime(std::string_view source, const ChatRenderLimits& limits) : heap(source, limits) {}

  Heap heap;
  std::optional<std::tm> clock;  // what strftime_now shows; otherwise the machine's
  int depth = 0;                 // the number of Deeper that exist
};

// One step of rendering, which is a level deeper while this exists. Throws ChatTemplateError above
// the limits.
class Deeper {
 public:
  explicit Deeper(Runtime& r) : runtime_(r) {
    r.heap.step();
    if (++r.depth > r.heap.limits().depth)
      r.heap.exceed("rendering goes more than {} deep", r.heap.limits().depth);
  }
  ~Deeper() { --runtime_.depth; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  Runtime& runtime_;
};

}  // namespace weft::jinja
