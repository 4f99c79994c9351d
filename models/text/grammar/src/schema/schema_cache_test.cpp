#include "schema/schema_cache.h"

#include <doctest/doctest.h>

#include "weft/base/error.h"

using namespace weft;
using grammar::SchemaCache;

TEST_CASE("a schema is compiled once and forgotten when others need the room") {
  SchemaCache cache(80'000);
  int n_made = 0;
  const auto get = [&](const std::string& schema, const JsonSchemaOptions& options = {}) {
    return cache.get(schema, options, [&] {
      ++n_made;
      return Grammar::from_json_schema(schema, options);
    });
  };
  const std::string number = R"({"type": "number", "description": ")";
  const auto sized = [&](char name, std::size_t n) {
    return number + std::string(n, name) + "\"}";
  };
  const auto first = get(sized('a', 30'000));
  CHECK(get(sized('a', 30'000)) == first);
  CHECK(n_made == 1);
  CHECK(get(sized('a', 30'000), JsonSchemaOptions::concise()) != first);
  CHECK(n_made == 2);
  get(sized('a', 30'000));
  get(sized('b', 30'000));  // the one that was not needed for longest is forgotten
  get(sized('a', 30'000));
  CHECK(n_made == 3);
  get(sized('a', 30'000), JsonSchemaOptions::concise());
  CHECK(n_made == 4);
  CHECK(first->accepts("12"));
  get(sized('c', 100'000));  // too large to be kept
  get(sized('c', 100'000));
  CHECK(n_made == 6);
  CHECK_THROWS_AS(get(R"({"type": 3})"), FormatError);
}

TEST_CASE("a schema that another thread makes meanwhile is kept once") {
  SchemaCache cache(80'000);
  const JsonSchemaOptions options;
  const auto text = [](char name) {
    return R"({"type": "number", "description": ")" + std::string(30'000, name) + "\"}";
  };
  int n_made = 0;
  const auto get = [&](const std::string& schema, const auto& meanwhile) {
    return cache.get(schema, options, [&] {
      ++n_made;
      meanwhile();
      return Grammar::from_json_schema(schema, options);
    });
  };
  const auto nothing = [] {};
  std::shared_ptr<const Grammar> inner;
  const auto outer = get(text('a'), [&] { inner = get(text('a'), nothing); });
  CHECK(n_made == 2);
  CHECK(outer == inner);
  // Both have room beside each other, which a second copy would take.
  get(text('b'), nothing);
  CHECK(get(text('a'), nothing) == outer);
  get(text('b'), nothing);
  CHECK(n_made == 3);
}
