#pragma once
// Tests of the descriptions of options (weft/base/knob.h).

#include <cctype>
#include <cstddef>
#include <set>
#include <string_view>

#include <doctest/doctest.h>

#include "weft/base/knob.h"

namespace weft::test {

// A sentence, and for every face a name or the reason why there is none.
inline void check_text(const KnobText& text) {
  CAPTURE(text.name);
  CHECK(std::isupper(static_cast<unsigned char>(text.doc.at(0))) != 0);
  CHECK(text.doc.ends_with('.'));
  CHECK(text.flags.empty() != text.no_flag.empty());
  CHECK(text.c.empty() != text.no_c.empty());
  CHECK_FALSE(text.group.empty());
}

// Every member of T is described once, and its default is in its range.
template <class T>
void check_described() {
  T object;
  std::set<const void*> members;
  std::set<std::string_view> names;
  for_each_option(object, [&](const KnobText& text, const auto& value) {
    check_text(text);
    members.insert(&value);
    names.insert(text.name);
  });
  const std::size_t n = Described<T>::count(object);
  CHECK(members.size() == n);
  CHECK(names.size() == n);
  CHECK_NOTHROW(check_numbers(object));
}

}  // namespace weft::test
