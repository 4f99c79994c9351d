#include <array>
#include <cstdlib>

#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/scheduler/link.h"

namespace weft {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array<Unit, 3> kSeconds{{{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
constexpr std::array<Unit, 4> kBytes{
    {{"kbit", 125}, {"Mbit", 125e3}, {"Gbit", 125e6}, {"bit", 0.125}}};

// A positive number with one of the units; 0 if it is none.
template <std::size_t n>
double quantity(const std::string& text, const std::array<Unit, n>& units) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  for (const Unit& unit : units)
    if (unit.name == end && value > 0 && value < 1e15) return value * unit.factor;
  return 0;
}

}  // namespace

LinkSpeed parse_link(std::string_view text) {
  const std::size_t comma = std::min(text.find(','), text.size());
  const double latency = quantity(std::string(text.substr(0, comma)), kSeconds);
  const std::string_view rest = text.substr(std::min(comma + 1, text.size()));
  const double bytes = quantity(std::string(rest), kBytes);
  if (latency > 0 && bytes > 0) return {.latency = latency, .bytes_per_second = bytes};
  fail<ValueError>("a link is a latency and a bandwidth, such as 0.1ms,1Gbit; got '{}'", text);
}

std::string to_string(const LinkSpeed& link) {
  const auto& [kbit, mbit, gbit, bit] = kBytes;
  const double bytes = link.bytes_per_second;
  const Unit& unit = bytes >= gbit.factor ? gbit : bytes >= mbit.factor ? mbit : kbit;
  return fmt::format("{}, {} {}/s", human_ns(link.latency * 1e9), three_digits(bytes / unit.factor),
                     unit.name);
}

}  // namespace weft
