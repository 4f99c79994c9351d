#include "peer_group.h"

#include <doctest/doctest.h>

using weft::http::peer_group;

TEST_CASE("addresses that count as one client") {
  CHECK(peer_group("192.0.2.1") == "192.0.2.1");
  CHECK(peer_group("::ffff:192.0.2.1") == "192.0.2.1");
  CHECK(peer_group("2001:db8:1:2:3:4:5:6") == "2001:db8:1:2::/64");
  CHECK(peer_group("2001:db8:1:2::1") == "2001:db8:1:2::/64");
  CHECK(peer_group("2001:db8:1:3::1") != "2001:db8:1:2::/64");
  CHECK(peer_group("fe80::1%eth0") == "fe80::/64");
  CHECK(peer_group("unix") == "unix");
  CHECK(peer_group("") == "");
}
