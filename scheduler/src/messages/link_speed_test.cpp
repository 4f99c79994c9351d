#include <array>
#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/scheduler/link.h"

namespace weft {
namespace {

using Seconds = std::chrono::duration<double>;

TEST_CASE("links as texts") {
  const LinkSpeed link = parse_link("0.1ms,1Gbit");
  CHECK(link.latency == doctest::Approx(1e-4));
  CHECK(link.bytes_per_second == doctest::Approx(125e6));
  CHECK(parse_link("50us,2.5Gbit").bytes_per_second == doctest::Approx(312.5e6));
  CHECK(to_string(link) == "100 us, 1.00 Gbit/s");
  CHECK(to_string(parse_link("1ms,1000Gbit")) == "1.00 ms, 1000 Gbit/s");
  CHECK(to_string(parse_link("2s,9kbit")) == "2.00 s, 9.00 kbit/s");
  for (const char* bad : {"", "1ms", "1ms,", ",1Gbit", "1ms,1Gb", "0ms,1Gbit", "1ms,-1Gbit",
                          "1 ms,1Gbit", "1ms,1Gbit,2", "nans,1Gbit", "1ms,infGbit"})
    CHECK_THROWS_AS(parse_link(bad), ValueError);
}

TEST_CASE("messages on a slowed link arrive in order, none too early") {
  const auto ends = in_process_communicators(2);
  const LinkSpeed link{.latency = 0.01, .bytes_per_second = 1e5};
  const auto a = slowed_communicator(*ends[0], link), b = slowed_communicator(*ends[1], link);
  CHECK(a->size() == 2);
  CHECK(b->rank() == 1);
  const auto begin = std::chrono::steady_clock::now();
  const std::array<std::byte, 1000> large{std::byte{7}};
  const std::array<std::byte, 1> small{std::byte{9}};
  a->send(1, Channel::data, large);
  a->send(1, Channel::data, small);
  a->send(1, Channel::control, {});
  std::array<std::byte, 1000> got{};
  b->receive(0, Channel::data, got, 10);
  CHECK(got == large);
  std::array<std::byte, 1> more{};
  b->receive(0, Channel::data, more, 10);
  CHECK(more == small);
  CHECK(Seconds(std::chrono::steady_clock::now() - begin).count() >= 0.02);
  CHECK(b->receive(0, Channel::control, 10).empty());
}

}  // namespace
}  // namespace weft
