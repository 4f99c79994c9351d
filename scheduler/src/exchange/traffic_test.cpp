#include "exchange/traffic.h"

#include <array>

#include <doctest/doctest.h>

#include "weft/ops/projections/linear.h"
#include "weft/ops/ranks/collectives.h"

namespace weft {
namespace {

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

}  // namespace
}  // namespace weft
