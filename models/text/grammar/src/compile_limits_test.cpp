#include "weft/grammar/compile_limits.h"

#include <atomic>
#include <limits>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/ledger.h"
#include "weft/grammar/grammar.h"

namespace weft {
namespace {

TEST_CASE("compiling keeps its limits") {
  const std::string pattern = "(a|b)*a(a|b){12}";
  SUBCASE("of steps, for all grammars together") {
    const LimitedCompilation limits({.max_steps = 20'000'000});
    const auto compile = [&] { Grammar::from_regex(pattern); };
    compile();
    CHECK(limits.steps() > 100'000);
    CHECK_THROWS_AS(for (int i = 0; i < 100; ++i) compile(), BudgetError);
  }
  SUBCASE("of every grammar alone, without others") {
    for (int i = 0; i < 3; ++i) Grammar::from_regex(pattern);
  }
  SUBCASE("when it is cancelled") {
    std::atomic<bool> cancel = true;
    const LimitedCompilation limits({.cancel = &cancel});
    CHECK_THROWS_AS(Grammar::from_regex(pattern), CancelledError);
    CHECK_THROWS_AS(Grammar::from_gbnf("root ::= \"a\""), CancelledError);
    CHECK_THROWS_AS(Grammar::from_json_schema(R"({"type": "null"})"), CancelledError);
  }
  SUBCASE("the inner ones count") {
    std::atomic<bool> cancel = true;
    const LimitedCompilation outer({.cancel = &cancel});
    {
      const LimitedCompilation inner({});
      Grammar::from_regex(pattern);
    }
    CHECK_THROWS_AS(Grammar::from_regex(pattern), CancelledError);
  }
}

TEST_CASE("kept grammars of schemas are found in their scope alone") {
  constexpr std::string_view kSchema = R"({"type": "array", "title": "of a scope"})";
  const auto compiled = [&](const std::string& scope) {
    const LimitedCompilation limits({.scope = scope});
    return Grammar::from_json_schema(kSchema);
  };
  const auto a = compiled("a");
  CHECK(compiled("a") == a);
  CHECK(compiled("b") != a);
}

TEST_CASE("a schema with many properties takes linear steps") {
  const auto steps = [](int n) {
    std::string schema = R"({"type": "object", "properties": {)";
    for (int i = 0; i < n; ++i) schema += fmt::format("{}\"m{}\": {{}}", i == 0 ? "" : ",", i);
    const LimitedCompilation limits({});
    Grammar::from_json_schema(schema + "}}");
    return static_cast<double>(limits.steps());
  };
  CHECK(steps(4000) < 5 * steps(1000));
}

TEST_CASE("the members of many parts of a schema are counted") {
  std::string schema = R"({"type": "object", "allOf": [)";
  for (int i = 0; i < 1000; ++i)
    schema += fmt::format("{}{{\"properties\": {{\"p{}\": {{}}}}}}", i == 0 ? "" : ",", i);
  schema += "]}";
  const LimitedCompilation limits({.max_steps = std::uint64_t{1} << 40});
  try {
    Grammar::from_json_schema(schema);
  } catch (const BudgetError&) {
  }
  CHECK(limits.steps() > 1000 * 1000);  // every name is looked for in every part
}

// The limit of the process' ledger, for a while.
class LedgerLimit {
 public:
  explicit LedgerLimit(std::int64_t more) {
    process_ledger().set_limit(process_ledger().used() + more);
  }
  ~LedgerLimit() { process_ledger().set_limit(std::numeric_limits<std::int64_t>::max()); }
  LedgerLimit(const LedgerLimit&) = delete;
  LedgerLimit& operator=(const LedgerLimit&) = delete;
};

std::string schema_of(int i) {
  return fmt::format(R"({{"type": "array", "items": {{"enum": ["{}"]}}}})",
                     std::string(500, 'a' + i));
}

TEST_CASE("grammars take their memory from the ledger") {
  const std::int64_t before = process_ledger().used();
  const auto g = Grammar::from_gbnf("root ::= [a-z]{1,200} [0-9]{1,200}");
  const std::int64_t taken = process_ledger().used() - before;
  CHECK(taken > 1000);
  const LedgerLimit limit(taken / 2);
  CHECK_THROWS_AS(Grammar::from_gbnf("root ::= [a-z]{1,200} [0-9]{1,200}"), LedgerError);
  CHECK(process_ledger().used() == before + taken);
}

TEST_CASE("schemas that are only remembered make room for others") {
  for (int i = 0; i < 5; ++i) Grammar::from_json_schema(schema_of(i));
  const LedgerLimit limit(0);
  const std::int64_t before = process_ledger().used();
  const auto held = Grammar::from_json_schema(schema_of(5));
  CHECK(process_ledger().used() < before);
  CHECK(held->accepts("[]"));
  const LedgerLimit none(-process_ledger().used());
  CHECK_THROWS_AS(Grammar::from_json_schema(schema_of(6)), LedgerError);
}

}  // namespace
}  // namespace weft
