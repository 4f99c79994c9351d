#include "engine/engine_queue.h"

#include <algorithm>
#include <utility>

namespace weft::serve {

bool EngineQueue::is_before(const EngineText& a, const EngineText& b) {
  const EngineRequest &x = *a.request, &y = *b.request;
  if (x.wanted.priority != y.wanted.priority) return x.wanted.priority > y.wanted.priority;
  return std::pair(x.id, a.index) < std::pair(y.id, b.index);
}

void EngineQueue::add_texts_of(const std::shared_ptr<EngineRequest>& request) {
  for (std::int32_t i = 0; i < request->wanted.texts; ++i) {
    auto text = std::make_unique<EngineText>();
    text->request = request;
    text->index = i;
    insert(std::move(text));
  }
}

void EngineQueue::insert(TextPtr text) {
  const auto at =
      std::ranges::find_if(texts_, [&](const TextPtr& t) { return is_before(*text, *t); });
  texts_.insert(at, std::move(text));
}

EngineQueue::TextPtr EngineQueue::remove(std::size_t i) {
  TextPtr text = std::move(texts_[i]);
  texts_.erase(texts_.begin() + static_cast<std::ptrdiff_t>(i));
  return text;
}

std::vector<EngineQueue::TextPtr> EngineQueue::remove_cancelled() {
  std::vector<TextPtr> removed;
  for (TextPtr& text : texts_) {
    if (text->is_cancelled()) removed.push_back(std::move(text));
  }
  std::erase(texts_, nullptr);
  return removed;
}

std::size_t EngineQueue::drop_texts_of(const EngineRequest& request) {
  return std::erase_if(texts_,
                       [&](const TextPtr& text) { return text->request.get() == &request; });
}

}  // namespace weft::serve
