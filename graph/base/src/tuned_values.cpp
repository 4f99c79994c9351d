#include "weft/base/tuned_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/hash.h"
#include "weft/base/read_file.h"
#include "weft/base/text.h"

namespace weft {
namespace {

// The version of the text, of the names and of how values are measured. Stored values of another
// version are ignored.
constexpr std::string_view kVersion = "weft tuned values 1";
constexpr std::size_t kMaxText = 1 << 16;

// The text up to the next `end`, which is removed with it.
std::string_view take(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

template <class Number>
bool read_number(std::string_view text, Number& to) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<TunedValue> read_value(std::string_view line) {
  TunedValue value;
  value.name = take(line, ' ');
  const bool complete = read_number(take(line, ' '), value.value) && read_number(line, value.gain);
  if (!complete || value.name.empty() || !std::isfinite(value.gain)) return std::nullopt;
  return value;
}

}  // namespace

const TunedValue* TunedValues::find(std::string_view name) const {
  const auto found = std::ranges::find(values_, name, &TunedValue::name);
  return found == values_.end() ? nullptr : &*found;
}

std::string TunedValues::to_text(std::string_view machine) const {
  std::string text = fmt::format("{}\n{}\n", kVersion, machine);
  for (const TunedValue& v : values_)
    text += fmt::format("{} {} {:.3f}\n", v.name, v.value, v.gain);
  return text + "end\n";
}

TunedValues TunedValues::parse(std::string_view text, std::string_view machine) {
  if (take(text, '\n') != kVersion || take(text, '\n') != machine) return {};
  std::vector<TunedValue> values;
  while (!text.empty()) {
    const std::string_view line = take(text, '\n');
    if (line == "end") return TunedValues(std::move(values));
    auto value = read_value(line);
    if (!value) return {};
    values.push_back(std::move(*value));
  }
  return {};
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line, name = "unknown processor";
  int n_cores = 0;
  while (std::getline(file, line)) {
    std::string_view value = line;
    const std::string_view key = trim(take(value, ':'));
    n_cores += key == "processor";
    // "CPU part" is all that Linux says on ARM.
    if (key == "model name" || key == "CPU part") name = trim(value);
  }
  return fmt::format("{} x{}", name, n_cores);
}

std::filesystem::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache && *cache == '/') return std::filesystem::path(cache) / "weft";
  if (home && *home == '/') return std::filesystem::path(home) / ".cache/weft";
  return {};
}

std::string tuned_machine(std::string_view instruction_set) {
  return fmt::format("{}, {}", processor_name(), instruction_set);
}

std::filesystem::path tuned_path(std::string_view instruction_set) {
  const std::filesystem::path folder = cache_folder();
  if (folder.empty()) return {};
  Fnv1a64 hash;
  hash.add(tuned_machine(instruction_set));
  return folder / fmt::format("tuned-{:016x}.txt", hash.value());
}

TunedValues stored_values(std::string_view instruction_set) {
  const char* wish = std::getenv("WEFT_TUNE");
  if (wish && *wish != '\0') {
    if (wish != std::string_view("off"))
      fail<ValueError>("WEFT_TUNE: expected 'off' or nothing, got '{}'", wish);
    return {};
  }
  const auto text = try_read_file(tuned_path(instruction_set).string(), kMaxText);
  return text ? TunedValues::parse(*text, tuned_machine(instruction_set)) : TunedValues{};
}

}  // namespace weft
