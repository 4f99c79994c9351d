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

namespace {

// Charges for the bytes of a text, or the items of a list or dict. Functions that go deeper charge
// for it themselves.
void charge_reading(Heap& heap, const Value& v, const NativeCost& cost) {
  switch (v.kind) {
    case Kind::string:
    case Kind::big:
      return heap.work(v.text->text.size() * cost.price);
    case Kind::list:
      return heap.step((1 + v.list->items.size()) * cost.price);
    case Kind::dict:
    case Kind::space:
      return heap.step((1 + v.dict->items.size()) * cost.price);
    case Kind::loop:
      return heap.step((1 + v.loop->items.size()) * cost.price);
    default:
      return heap.step();
  }
}

}  // namespace

Value run_native(Runtime& r, const NativeRow& row, const Value& self, Args& args) {
  const std::string_view name = row.name;
  r.heap.step(1 + (args.list.size() + args.named.size()) / 8);
  if (row.cost.reads == NativeCost::Reads::all) charge_reading(r.heap, self, row.cost);
  if (row.cost.reads != NativeCost::Reads::nothing) {
    for (const Value& v : args.list) charge_reading(r.heap, v, row.cost);
    for (const auto& argument : args.named) charge_reading(r.heap, argument.second, row.cost);
  }
  const Value v = row.run(r, self, args);
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
  return run_native(r, *row, self, args);
}

bool apply_test(Runtime& r, std::string_view name, const Value& self, Args& args) {
  const NativeRow* row = find_row(test_rows(), name);
  if (!row) r.heap.fail("unknown test '{}'", name);
  return truth(run_native(r, *row, self, args));
}

}  // namespace weft::jinja
