#include "weft/scheduler/link.h"

#include <array>
#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/ranks/collectives.h"

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

TEST_CASE("the traffic of a rank: sums go to all others, a stage's output to one") {
  Graph g;
  const Dim t = g.variable("T", 8);
  const Tensor x = g.input("x", {f32, {t, 100}});
  const Tensor sum = g.add(kAllReduce, std::array{x, Tensor()}, GroupAttrs{0, 4, 0, 100}, {});
  const Tensor sent = g.add(kSend, std::array{sum, sum}, PeerAttrs{5, 0, 100}, {});
  const Tensor got = g.add(kRecv, std::array{x, sent}, PeerAttrs{5, 0, 50, true}, {});
  g.output("y", got);
  const LinkSpeed link{.latency = 1e-3, .bytes_per_second = 1e6};
  const Extents extents{2};
  const Traffic all = traffic_of(g, extents, link, true);
  CHECK(all.exchanges == 3);
  CHECK(all.messages_out == 4);
  CHECK(all.bytes_out == 4 * 800);
  CHECK(all.seconds == doctest::Approx((1e-3 + 3 * 800e-6) + (1e-3 + 400e-6)));
  const Traffic no_results = traffic_of(g, extents, link, false);
  CHECK(no_results.exchanges == 2);
  CHECK(no_results.seconds == doctest::Approx(1e-3 + 3 * 800e-6));
}

// 4096 rows of 64 columns are 1 MiB: 8 chunks of 128 KiB, of which 7 may be under way while the
// projection computes.
TEST_CASE("terms that are sent while others are computed are not waited for") {
  Graph g;
  const Dim t = g.variable("T", 512);
  const Tensor x = g.input("x", {f32, {t, 16}});
  const Tensor term = linear(x, g.weight("w", {f32, {512, 16}}));
  g.output("y", g.add(kAllReduce, std::array{term, Tensor()}, GroupAttrs{0, 2, 0, 512}, {}));
  const LinkSpeed link{.latency = 1e-3, .bytes_per_second = 1 << 20};
  const Extents extents{512};
  CHECK(multiply_adds_of(g, extents) == 512 * 512 * 17);  // one to add up
  const auto seconds = [&](double rate) {
    return traffic_of(g, extents, link, true, rate).seconds;
  };
  CHECK(seconds(0) == doctest::Approx(1e-3 + 1));
  CHECK(seconds(1) == doctest::Approx(1e-3 + 1.0 / 8));  // it computes for long enough
  CHECK(seconds(1 << 24) == doctest::Approx(1e-3 + 1 - 0.25 * 7 / 8));  // a quarter of a second
  CHECK(traffic_of(g, extents, link, true).messages_out == 8);
}

TEST_CASE("scattered sums take two messages and fewer bytes") {
  Graph g;
  const Tensor x = g.input("x", {f32, {1, 8192}});
  g.output("y", g.add(kAllReduce, std::array{x, Tensor()}, GroupAttrs{0, 8, 0, 8192}, {}));
  const LinkSpeed link{.latency = 1e-3, .bytes_per_second = 7168};
  const Traffic traffic = traffic_of(g, {}, link, true);
  CHECK(traffic.bytes_out == 2 * 7 * 4096);
  CHECK(traffic.messages_out == 2 * 7);
  CHECK(traffic.seconds == doctest::Approx(2e-3 + 8));
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
  CHECK(b->arrived(0, Channel::data) == -1);
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
