#include "jinja/natives.h"

#include <algorithm>

namespace weft::jinja {

const Value* Args::get(std::size_t place, std::string_view name) {
  if (place < list.size()) {
    taken = std::max(taken, place + 1);
    return &list[place];
  }
  if (name.empty()) return nullptr;
  for (auto& [known, value] : named) {
    if (known != name) continue;
    ++named_taken;
    known = {};
    return &value;
  }
  return nullptr;
}

std::span<const Value> Args::rest(std::size_t from) {
  taken = list.size();
  return std::span(list).subspan(std::min(from, list.size()));
}

const NativeRow* find_row(std::span<const NativeRow> rows, std::string_view name) {
  const auto it = std::ranges::find(rows, name, &NativeRow::name);
  return it == rows.end() ? nullptr : &*it;
}

Value run_native(Runtime& r, std::string_view name, Native native, const Value& self, Args& args) {
  const Value v = native(r, self, args);
  if (!args.all_taken()) {
    for (const auto& [left, value] : args.named)
      if (!left.empty()) r.heap.fail("{}() has no parameter named '{}'", name, left);
    r.heap.fail("{}() takes at most {} positional arguments, got {}", name, args.taken,
                args.list.size());
  }
  return v;
}

Value apply_filter(Runtime& r, std::string_view name, const Value& self, Args& args) {
  const Deeper deeper(r);
  const NativeRow* row = find_filter(name);
  if (!row) r.heap.fail("unknown filter '{}'", name);
  return run_native(r, name, row->run, self, args);
}

bool apply_test(Runtime& r, std::string_view name, const Value& self, Args& args) {
  const NativeRow* row = find_row(test_rows(), name);
  if (!row) r.heap.fail("unknown test '{}'", name);
  return truth(run_native(r, name, row->run, self, args));
}

}  // namespace weft::jinja
