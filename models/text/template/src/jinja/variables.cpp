#include "jinja/variables.h"

#include <algorithm>

namespace weft::jinja {

Scope* Variables::keep() {
  for (Scope* s = scope_; s && !s->captured; s = s->parent) s->captured = true;
  return scope_;
}

const Value* Variables::find(std::string_view name) const {
  for (const Scope* s = scope_; s; s = s->parent) {
    heap_.step(1 + s->names.size() / 16);
    for (const auto& [known, value] : s->names)
      if (known == name) return &value;
  }
  return nullptr;
}

void Variables::set(std::string_view name, const Value& v) {
  auto& names = scope_->names;
  heap_.step(1 + names.size() / 16);
  const auto it = std::ranges::find(names, name, [](const auto& n) { return n.first; });
  if (it != names.end()) {
    it->second = v;
    return;
  }
  heap_.charge(sizeof names[0]);
  names.emplace_back(name, v);
}

}  // namespace weft::jinja
