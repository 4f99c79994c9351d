#pragma once
// Remembers the grammars of schemas by their text, because clients send the same schema with every
// request. Any number of threads may use it.

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "weft/base/fork_mutex.h"
#include "weft/grammar/grammar.h"

namespace weft::grammar {

class SchemaCache {
 public:
  // The schemas and grammars that are kept have at most `max_bytes` together.
  explicit SchemaCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // What `make` returns for this schema: now, or when it was needed before in the same scope
  // (CompileLimits::scope). The schemas that were not needed for longest are forgotten. Those over
  // the limit are not kept. Throws what `make` throws, and then keeps nothing. Several threads may
  // make the same grammar; the first one is kept and returned to all.
  template <class Make>
  std::shared_ptr<const Grammar> get(std::string_view schema, const JsonSchemaOptions& options,
                                     Make make, std::string_view scope = {}) {
    const Key key{scope, schema, options};
    if (auto known = find(key)) return known;
    return keep({std::string(scope), std::string(schema), options, make()});
  }

  void clear();

 private:
  struct Key {
    std::string_view scope, schema;
    const JsonSchemaOptions& options;
  };
  struct Entry {
    std::string scope, schema;
    JsonSchemaOptions options;
    std::shared_ptr<const Grammar> grammar;
    std::size_t n_bytes() const;
  };

  std::shared_ptr<const Grammar> find(const Key& key);
  std::shared_ptr<const Grammar> keep(Entry entry);
  // REQUIRES: mutex_ is held.
  std::shared_ptr<const Grammar> find_held(const Key& key);

  const std::size_t max_bytes_;
  ForkMutex mutex_;           // guards what follows
  std::list<Entry> entries_;  // the latest first
  std::size_t n_bytes_ = 0;
};

}  // namespace weft::grammar
