#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/check/selftest.h"

namespace weft {
namespace {

std::string_view to_string(Verdict v) {
  constexpr std::string_view kNames[] = {"passed", "FAILED", "skipped"};
  return kNames[static_cast<std::size_t>(v)];
}

}  // namespace

bool SelfReport::passed() const {
  return std::ranges::none_of(checks,
                              [](const SelfCheck& c) { return c.verdict == Verdict::failed; });
}

std::string SelfReport::to_text() const {
  std::string text = about;
  for (const SelfCheck& c : checks)
    text += fmt::format("{:<8} {:<22} {}\n", to_string(c.verdict), c.name, c.detail);
  const auto n = [&](Verdict v) { return std::ranges::count(checks, v, &SelfCheck::verdict); };
  return text + fmt::format("{} passed, {} failed, {} skipped\n", n(Verdict::passed),
                            n(Verdict::failed), n(Verdict::skipped));
}

std::string SelfReport::to_json() const {
  nlohmann::ordered_json json{{"passed", passed()}, {"about", about}};
  auto& all = json["checks"] = nlohmann::ordered_json::array();
  for (const SelfCheck& c : checks)
    all.push_back({{"name", c.name}, {"verdict", to_string(c.verdict)}, {"detail", c.detail}});
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace weft
