#pragma once
// Python's operators. All fail as Python would.

#include "jinja/value.h"

namespace weft::jinja {

// The result of + - * ** / // %.
Value apply_operator(Runtime& r, std::string_view op, const Value& a, const Value& b);
bool contains(Runtime& r, const Value& all, const Value& one);
// object.name and object[key]; undefined if there is none.
Value attribute_of(Runtime& r, const Value& object, std::string_view name);
Value item_of(Runtime& r, const Value& object, const Value& key);
// Resolves "a.b.0" of filters such as map, starting at `v`. The attribute may be a number.
// `otherwise`, if given, replaces a missing attribute.
Value follow(Runtime& r, const Value& v, const Value& path, const Value* otherwise = nullptr);

// The C++ value of an operand or argument. Fail if it is of another kind.
std::int64_t integer_of(Runtime& r, const Value& v);
double real(Runtime& r, const Value& v);
const Str& string_of(Runtime& r, const Value& v);
// REQUIRES: `v` is undefined. Fails with the reason that it keeps.
[[noreturn]] void fail_undefined(Runtime& r, const Value& v);

}  // namespace weft::jinja
