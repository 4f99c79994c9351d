#include "weft/base/tuned_values.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "weft/base/error.h"

#include "support/temp_folder.h"

namespace weft {
namespace {

constexpr const char* kMachine = "Some Processor x2, avx2";

TunedValues two_values() {
  return TunedValues({{"prefetch.q4_k.1", 4096, 1.25}, {"spin", -3, 1}});
}

// Sets a variable of the environment, or removes it, until the end of the scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  void set(const char* value) { value ? ::setenv(name_, value, 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("tuned values: a round trip through text keeps them") {
  const TunedValues read = TunedValues::parse(two_values().to_text(kMachine), kMachine);
  REQUIRE(read.all().size() == 2);
  REQUIRE(read.find("prefetch.q4_k.1"));
  CHECK(read.find("prefetch.q4_k.1")->value == 4096);
  CHECK(read.find("prefetch.q4_k.1")->gain == 1.25);
  CHECK(read.find("spin")->value == -3);
  CHECK(read.find("prefetch.q4_k") == nullptr);
}

TEST_CASE("tuned values: a text that is cut, changed or of another machine has none") {
  const std::string text = two_values().to_text(kMachine);
  CHECK(TunedValues::parse(text, "Another Processor x2, avx2").all().empty());
  CHECK(TunedValues::parse("", kMachine).all().empty());
  for (std::size_t n = 0; n + 1 < text.size(); ++n)
    CHECK(TunedValues::parse(text.substr(0, n), kMachine).all().empty());
  for (const char* wrong : {"x", " 1", " 1 2 3", "99999999999999999999 1", "1e3 1", "1 nan"}) {
    std::string changed = text;
    changed.replace(changed.find("spin -3 1.000"), 13, std::string("spin ") + wrong);
    CHECK_MESSAGE(TunedValues::parse(changed, kMachine).all().empty(), changed);
  }
}

TEST_CASE("tuned values: read from the cache folder, unless WEFT_TUNE=off") {
  const test::TempFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder.path().c_str());
  Variable wish("WEFT_TUNE", nullptr);

  CHECK(stored_values("avx2").all().empty());  // no file
  const std::filesystem::path path = tuned_path("avx2");
  CHECK(path != tuned_path("sse2"));
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << two_values().to_text(tuned_machine("avx2"));
  CHECK(stored_values("avx2").all().size() == 2);
  CHECK(stored_values("sse2").all().empty());
  wish.set("off");
  CHECK(stored_values("avx2").all().empty());
  wish.set("on");
  CHECK_THROWS_WITH_AS(stored_values("avx2"), "WEFT_TUNE: expected 'off' or nothing, got 'on'",
                       ValueError);
}

}  // namespace weft
