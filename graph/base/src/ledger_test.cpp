#include "weft/base/ledger.h"

#include <map>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"

namespace weft {
namespace {

std::int64_t sum(const Ledger& ledger) {
  std::int64_t bytes = 0;
  for (const Ledger::Line& line : ledger.lines()) bytes += line.used;
  return bytes;
}

TEST_CASE("a ledger refuses what exceeds its limit, with the numbers") {
  Ledger ledger;
  ledger.set_limit(12 << 20);
  Taken body(Account::bodies, ledger), grammar(Account::grammars, ledger);
  CHECK(body.resize(10 << 20));
  CHECK(!grammar.resize(3 << 20));
  CHECK(grammar.bytes() == 0);
  CHECK(ledger.used() == 10 << 20);
  CHECK_THROWS_WITH_AS(grammar.require(3 << 20),
                       "3.0 MiB for grammars: 10.0 MiB of 12.0 MiB are taken (bodies 10.0 MiB)",
                       LedgerError);
  CHECK(grammar.resize(2 << 20));  // exactly the rest
  CHECK(body.resize(0));
  CHECK(grammar.resize(12 << 20));
}

TEST_CASE("a lower limit keeps what is taken, and lets nothing more in") {
  Ledger ledger;
  Taken text(Account::texts, ledger);
  CHECK(text.resize(100));
  ledger.set_limit(50);
  CHECK(!text.resize(101));
  CHECK(text.resize(60));
  CHECK(!text.resize(61));
  text.set(200);
  CHECK(ledger.used() == 200);
}

TEST_CASE("what was taken is given back once, wherever it was moved") {
  Ledger ledger;
  {
    Taken one(Account::embedders, ledger);
    CHECK(one.resize(10));
    Taken two = std::move(one);
    Taken three(Account::texts, ledger);
    CHECK(three.resize(5));
    three = std::move(two);
    CHECK(ledger.used() == 15);
    CHECK(three.bytes() == 10);
  }
  CHECK(ledger.used() == 0);
  CHECK(ledger.lines()[static_cast<std::size_t>(Account::embedders)].peak == 10);
}

TEST_CASE("any order of changes leaves the sum of what is held, never above the limit") {
  constexpr std::int64_t kLimit = 1000;
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 rng(seed);
    Ledger ledger;
    ledger.set_limit(kLimit);
    std::vector<Taken> all;
    for (int i = 0; i < 400; ++i) {
      const auto account = static_cast<Account>(rng() % kAccounts);
      if (all.empty() || rng() % 3 == 0) all.emplace_back(account, ledger);
      Taken& one = all[rng() % all.size()];
      const std::int64_t before = one.bytes(), wanted = static_cast<std::int64_t>(rng() % 400);
      const std::int64_t others = ledger.used() - before;
      CHECK(one.resize(wanted) == (wanted <= before || others + wanted <= kLimit));
      if (rng() % 5 == 0) all.erase(all.begin() + static_cast<std::ptrdiff_t>(rng() % all.size()));
      std::int64_t held = 0;
      for (const Taken& t : all) held += t.bytes();
      REQUIRE(ledger.used() == held);
      REQUIRE(sum(ledger) == held);
      REQUIRE(held <= kLimit);
    }
  }
}

TEST_CASE("threads together never exceed the limit") {
  Ledger ledger;
  ledger.set_limit(100);
  std::atomic<bool> exceeded = false;
  const auto work = [&](unsigned seed) {
    std::mt19937 rng(seed);
    Taken mine(static_cast<Account>(seed % kAccounts), ledger);
    for (int i = 0; i < 20'000; ++i) {
      (void)mine.resize(static_cast<std::int64_t>(rng() % 60));
      if (ledger.used() > 100) exceeded = true;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (std::thread& t : threads) t.join();
  CHECK(!exceeded);
  CHECK(ledger.used() == 0);
  CHECK(sum(ledger) == 0);
}

}  // namespace
}  // namespace weft
