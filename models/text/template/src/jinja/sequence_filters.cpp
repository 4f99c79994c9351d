#include <algorithm>
#include <cmath>

#include "jinja/natives.h"

namespace weft::jinja {
namespace {

std::vector<Value> items_of(Runtime& r, const Value& v) {
  return iterate(r.heap, v);
}
bool given(const Value* v) {
  return v && !v->is(Kind::none);
}
bool flag(Args& a, std::size_t place, std::string_view name) {
  const Value* v = a.get(place, name);
  return v && truth(*v);
}
// An empty or undefined value has nothing to map or select, and need not be a sequence.
bool nothing_in(const Value& v, Args& a) {
  if (truth(v)) return false;
  a.rest(0);
  a.named.clear();
  return true;
}
Value iterator(Runtime& r, std::vector<Value> items) {
  return Value::from(r.heap.list(std::move(items), List::Type::iterator));
}

Value f_length(Runtime& r, const Value& v, Args&) {
  switch (v.kind) {
    case Kind::undefined:
      return Value::from(std::int64_t{0});
    case Kind::string:
      return Value::from(static_cast<std::int64_t>(v.text->length));
    case Kind::dict:
      return Value::from(static_cast<std::int64_t>(v.dict->items.size()));
    case Kind::list:
      if (v.list->type != List::Type::iterator)
        return Value::from(static_cast<std::int64_t>(v.list->items.size()));
      [[fallthrough]];
    default:
      r.heap.fail("a value of type {} has no length", type_name(v));
  }
}

Value f_first(Runtime& r, const Value& v, Args&) {
  if (v.is(Kind::list) && v.list->type == List::Type::iterator &&
      v.list->taken < v.list->items.size())
    return v.list->items[v.list->taken++];
  const std::vector<Value> items = items_of(r, v);
  return items.empty() ? r.heap.undefined("first: the sequence is empty") : items.front();
}
Value f_last(Runtime& r, const Value& v, Args&) {
  if (v.is(Kind::list) && v.list->type == List::Type::iterator)
    r.heap.fail("last: a generator cannot be read backwards");
  const std::vector<Value> items = items_of(r, v);
  return items.empty() ? r.heap.undefined("last: the sequence is empty") : items.back();
}

Value f_list(Runtime& r, const Value& v, Args&) {
  return Value::from(r.heap.list(items_of(r, v)));
}

Value f_join(Runtime& r, const Value& v, Args& a) {
  const Value *d = a.get(0, "d"), *attribute = a.get(1, "attribute");
  const Str* separator = d ? to_str(r.heap, *d) : r.heap.str("");
  TextBuilder out;
  bool first = true;
  for (const Value& item : items_of(r, v)) {
    if (!std::exchange(first, false)) out.add(*separator);
    out.add(*to_str(r.heap, given(attribute) ? follow(r, item, *attribute) : item));
    r.heap.check_length(out.text.size());
  }
  return Value::from(r.heap.str(std::move(out)));
}

Value f_items(Runtime& r, const Value& v, Args&) {
  if (v.is(Kind::undefined)) return iterator(r, {});
  if (!v.is(Kind::dict)) r.heap.fail("items: expected a dict, got {}", type_name(v));
  std::vector<Value> items;
  for (const auto& [key, value] : v.dict->items)
    items.push_back(Value::from(r.heap.list({key, value}, List::Type::tuple)));
  return iterator(r, std::move(items));
}

// The key for comparisons that ignore case.
Value folded(Runtime& r, const Value& v, bool case_sensitive) {
  return !case_sensitive && v.is(Kind::string) ? change_case(r, *v.text, Case::lower) : v;
}

// Items with their sort keys.
using Keyed = std::pair<std::vector<Value>, Value>;

void sort_keyed(Runtime& r, std::vector<Keyed>& all, bool reverse) {
  const auto less = [&](const Keyed& a, const Keyed& b) {
    for (std::size_t i = 0; i < a.first.size(); ++i) {
      if (equal(r.heap, a.first[i], b.first[i])) continue;
      return compare(r.heap, "<", a.first[i], b.first[i]) < 0;
    }
    return false;
  };
  if (!reverse) return std::stable_sort(all.begin(), all.end(), less);
  std::stable_sort(all.begin(), all.end(),
                   [&](const Keyed& a, const Keyed& b) { return less(b, a); });
}

Value f_sort(Runtime& r, const Value& v, Args& a) {
  const bool reverse = flag(a, 0, "reverse"), exact = flag(a, 1, "case_sensitive");
  const Value* attribute = a.get(2, "attribute");
  std::vector<Value> paths;
  if (given(attribute) && attribute->is(Kind::string)) {
    std::string_view rest = attribute->text->text;
    for (;;) {
      const std::size_t comma = rest.find(',');
      paths.push_back(r.heap.text(rest.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  } else if (given(attribute)) {
    paths.push_back(*attribute);
  }
  std::vector<Keyed> all;
  for (const Value& item : items_of(r, v)) {
    Keyed one{{}, item};
    for (const Value& path : paths) one.first.push_back(folded(r, follow(r, item, path), exact));
    if (paths.empty()) one.first.push_back(folded(r, item, exact));
    all.push_back(std::move(one));
  }
  sort_keyed(r, all, reverse);
  std::vector<Value> sorted;
  for (const Keyed& one : all) sorted.push_back(one.second);
  return Value::from(r.heap.list(std::move(sorted)));
}

Value f_dictsort(Runtime& r, const Value& v, Args& a) {
  const bool exact = flag(a, 0, "case_sensitive");
  const Value* by = a.get(1, "by");
  const bool reverse = flag(a, 2, "reverse");
  const std::string_view how = by ? std::string_view(string_of(r, *by).text) : "key";
  if (how != "key" && how != "value") r.heap.fail("dictsort: 'by' must be 'key' or 'value'");
  if (v.is(Kind::undefined)) fail_undefined(r, v);
  if (!v.is(Kind::dict)) r.heap.fail("dictsort: expected a dict, got {}", type_name(v));
  std::vector<Keyed> all;
  for (const auto& [key, value] : v.dict->items)
    all.emplace_back(std::vector{folded(r, how == "key" ? key : value, exact)},
                     Value::from(r.heap.list({key, value}, List::Type::tuple)));
  sort_keyed(r, all, reverse);
  std::vector<Value> sorted;
  for (const Keyed& one : all) sorted.push_back(one.second);
  return Value::from(r.heap.list(std::move(sorted)));
}

Value f_reverse(Runtime& r, const Value& v, Args&) {
  std::vector<Value> items = items_of(r, v);
  std::ranges::reverse(items);
  if (!v.is(Kind::string)) return iterator(r, std::move(items));
  TextBuilder out;
  for (const Value& c : items) out.add(*c.text);
  return Value::from(r.heap.str(std::move(out)));
}

Value f_unique(Runtime& r, const Value& v, Args& a) {
  const bool exact = flag(a, 0, "case_sensitive");
  const Value* attribute = a.get(1, "attribute");
  Dict seen;
  std::vector<Value> kept;
  for (const Value& item : items_of(r, v)) {
    const Value key = folded(r, given(attribute) ? follow(r, item, *attribute) : item, exact);
    if (seen.find(r.heap, key)) continue;
    seen.set(r.heap, key, Value::none());
    kept.push_back(item);
  }
  return iterator(r, std::move(kept));
}

template <int Sign>
Value f_extreme(Runtime& r, const Value& v, Args& a) {
  const bool exact = flag(a, 0, "case_sensitive");
  const Value* attribute = a.get(1, "attribute");
  const std::vector<Value> items = items_of(r, v);
  if (items.empty()) return r.heap.undefined("min, max: the sequence is empty");
  const auto key = [&](const Value& item) {
    return folded(r, given(attribute) ? follow(r, item, *attribute) : item, exact);
  };
  Value best = items[0], best_key = key(best);
  for (std::size_t i = 1; i < items.size(); ++i) {
    const Value k = key(items[i]);
    if (compare(r.heap, Sign < 0 ? "<" : ">", k, best_key) == Sign) best = items[i], best_key = k;
  }
  return best;
}

Value f_sum(Runtime& r, const Value& v, Args& a) {
  const Value *attribute = a.get(0, "attribute"), *start = a.get(1, "start");
  Value sum = start ? *start : Value::from(std::int64_t{0});
  for (const Value& item : items_of(r, v))
    sum = apply_operator(r, "+", sum, given(attribute) ? follow(r, item, *attribute) : item);
  return sum;
}

Value f_map(Runtime& r, const Value& v, Args& a) {
  if (nothing_in(v, a)) return iterator(r, {});
  std::vector<Value> mapped;
  if (a.list.empty()) {
    const Value* attribute = a.get(0, "attribute");
    const Value* otherwise = a.get(99, "default");
    if (!attribute) r.heap.fail("map: a filter or an attribute is missing");
    for (const Value& item : items_of(r, v)) {
      mapped.push_back(follow(r, item, *attribute, otherwise));
    }
    return iterator(r, std::move(mapped));
  }
  const std::string& name = string_of(r, *a.get(0, "")).text;
  const auto rest = a.rest(1);
  for (const Value& item : items_of(r, v)) {
    Args each{.list = {rest.begin(), rest.end()}, .named = a.named};
    mapped.push_back(apply_filter(r, name, item, each));
  }
  a.named.clear();
  return iterator(r, std::move(mapped));
}

// select, reject, selectattr, rejectattr: the first argument is an attribute if By.
template <bool By, bool Keep>
Value f_select(Runtime& r, const Value& v, Args& a) {
  if (nothing_in(v, a)) return iterator(r, {});
  const Value* attribute = By ? a.get(0, "") : nullptr;
  if (By && !attribute) r.heap.fail("the name of the attribute is missing");
  const Value* test = a.get(By ? 1 : 0, "");
  const auto rest = a.rest(By ? 2 : 1);
  std::vector<Value> kept;
  for (const Value& item : items_of(r, v)) {
    const Value subject = By ? follow(r, item, *attribute) : item;
    bool holds = false;
    if (test) {
      Args each{.list = {rest.begin(), rest.end()}, .named = a.named};
      holds = apply_test(r, string_of(r, *test).text, subject, each);
    } else {
      holds = truth(subject);
    }
    if (holds == Keep) kept.push_back(item);
  }
  a.named.clear();
  return iterator(r, std::move(kept));
}

Value f_groupby(Runtime& r, const Value& v, Args& a) {
  const Value *attribute = a.get(0, "attribute"), *otherwise = a.get(1, "default");
  const bool exact = flag(a, 2, "case_sensitive");
  if (!attribute) r.heap.fail("groupby() needs an attribute");
  std::vector<Keyed> all;
  for (const Value& item : items_of(r, v)) {
    const Value key = follow(r, item, *attribute, otherwise);
    all.emplace_back(std::vector{folded(r, key, exact), key}, item);
  }
  std::stable_sort(all.begin(), all.end(), [&](const Keyed& x, const Keyed& y) {
    return compare(r.heap, "<", x.first[0], y.first[0]) < 0;
  });
  std::vector<Value> groups;
  for (std::size_t i = 0; i < all.size();) {
    List* members = r.heap.list();
    const std::size_t first = i;
    for (; i < all.size() && equal(r.heap, all[i].first[0], all[first].first[0]); ++i)
      members->items.push_back(all[i].second);
    List* group = r.heap.list({all[first].first[1], Value::from(members)}, List::Type::tuple);
    group->group = true;
    groups.push_back(Value::from(group));
  }
  return Value::from(r.heap.list(std::move(groups)));
}

Value f_batch(Runtime& r, const Value& v, Args& a) {
  const Value *count = a.get(0, "linecount"), *fill = a.get(1, "fill_with");
  const std::int64_t n = count ? integer_of(r, *count) : 0;
  if (n < 1 || n > 100'000) r.heap.fail("batch() needs a count of 1 to 100000");
  std::vector<Value> batches;
  for (const Value& item : items_of(r, v)) {
    if (batches.empty() || static_cast<std::int64_t>(batches.back().list->items.size()) == n)
      batches.push_back(Value::from(r.heap.list()));
    batches.back().list->items.push_back(item);
  }
  if (given(fill) && !batches.empty()) {
    r.heap.charge(static_cast<std::size_t>(n) * sizeof(Value));
    batches.back().list->items.resize(static_cast<std::size_t>(n), *fill);
  }
  return iterator(r, std::move(batches));
}

Value f_slice(Runtime& r, const Value& v, Args& a) {
  const Value *count = a.get(0, "slices"), *fill = a.get(1, "fill_with");
  const std::int64_t n = count ? integer_of(r, *count) : 0;
  if (n < 1 || n > 100'000) r.heap.fail("slice() needs a count of 1 to 100000");
  const std::vector<Value> items = items_of(r, v);
  const auto parts = static_cast<std::size_t>(n);
  const std::size_t each = items.size() / parts, longer = items.size() % parts;
  std::vector<Value> slices;
  for (std::size_t i = 0, at = 0; i < parts; ++i) {
    List* part = r.heap.list();
    for (std::size_t k = 0; k < each + (i < longer ? 1 : 0); ++k)
      part->items.push_back(items[at++]);
    if (given(fill) && i >= longer) part->items.push_back(*fill);
    slices.push_back(Value::from(part));
  }
  return iterator(r, std::move(slices));
}

constexpr NativeRow kSequenceFilters[] = {
    {"batch", f_batch},
    {"count", f_length, kReadsNothing},
    {"dictsort", f_dictsort},
    {"first", f_first},
    {"groupby", f_groupby, {NativeCost::Reads::all, 2}},
    {"items", f_items},
    {"join", f_join, {NativeCost::Reads::all, 2}},
    {"last", f_last},
    {"length", f_length, kReadsNothing},
    {"list", f_list},
    {"map", f_map},
    {"max", f_extreme<1>},
    {"min", f_extreme<-1>},
    {"reject", f_select<false, false>},
    {"rejectattr", f_select<true, false>, {NativeCost::Reads::all, 2}},
    {"reverse", f_reverse},
    {"select", f_select<false, true>},
    {"selectattr", f_select<true, true>, {NativeCost::Reads::all, 2}},
    {"slice", f_slice},
    {"sort", f_sort},
    {"sum", f_sum},
    {"unique", f_unique, {NativeCost::Reads::all, 2}},
};

}  // namespace

std::span<const NativeRow> sequence_filter_rows() {
  return kSequenceFilters;
}

}  // namespace weft::jinja
