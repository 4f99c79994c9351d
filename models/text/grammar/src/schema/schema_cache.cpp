#include "schema/schema_cache.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "compiled_grammar.h"

namespace weft::grammar {

std::size_t SchemaCache::Entry::n_bytes() const {
  return sizeof(Entry) + scope.size() + schema.size() + grammar->compiled()->n_bytes();
}

void SchemaCache::clear() {
  std::list<Entry> forgotten;  // destroyed after the lock
  const std::lock_guard lock(mutex_);
  forgotten.swap(entries_);
  n_bytes_ = 0;
}

std::shared_ptr<const Grammar> SchemaCache::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  return find_held(key);
}

std::shared_ptr<const Grammar> SchemaCache::find_held(const Key& key) {
  const auto entry = std::ranges::find_if(entries_, [&](const Entry& one) {
    return one.options == key.options && one.scope == key.scope && one.schema == key.schema;
  });
  if (entry == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, entry);
  return entry->grammar;
}

std::shared_ptr<const Grammar> SchemaCache::keep(Entry entry) {
  if (entry.n_bytes() > max_bytes_) return entry.grammar;
  const std::lock_guard lock(mutex_);
  // Another thread may have made it meanwhile.
  if (auto known = find_held({entry.scope, entry.schema, entry.options})) return known;
  std::shared_ptr<const Grammar> made = entry.grammar;
  n_bytes_ += entry.n_bytes();
  entries_.push_front(std::move(entry));
  for (; n_bytes_ > max_bytes_; entries_.pop_back()) n_bytes_ -= entries_.back().n_bytes();
  return made;
}

}  // namespace weft::grammar
