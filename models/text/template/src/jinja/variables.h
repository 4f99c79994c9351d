#pragma once
// The variables that names refer to: a stack of scopes, of which one is current.

#include <utility>

#include "jinja/value.h"

namespace weft::jinja {

class Variables {
 public:
  explicit Variables(Heap& heap) : heap_(heap) {}

  // Opens a scope in the current one, which becomes current again when the inner one is closed.
  void open() { scope_ = heap_.scope(scope_); }
  void close() { heap_.release_scope(std::exchange(scope_, scope_->parent)); }
  // Makes another scope the current one, and returns the one that was.
  Scope* switch_to(Scope* scope) { return std::exchange(scope_, scope); }
  Scope* current() const { return scope_; }
  // Returns the current scope for a macro or a recursive loop that begins there. It uses names of
  // the enclosing scopes, so they are kept after they are closed.
  Scope* keep();

  // The variable in the innermost scope that has it; null if none does.
  const Value* find(std::string_view name) const;
  // Assigns the variable of the current scope.
  void set(std::string_view name, const Value& v);

 private:
  Heap& heap_;
  Scope* scope_ = nullptr;
};

}  // namespace weft::jinja
