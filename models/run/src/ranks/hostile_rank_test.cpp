// A rank 0 that sends what no rank 0 would: the other ranks end with an error, and read and write
// nothing outside of their memory (which AddressSanitizer sees).
#include <array>
#include <random>
#include <thread>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/run/session.h"

#include "ranks/command.h"
#include "ranks/rank_world.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace weft::run {
namespace {

class HostileRank {
 public:
  HostileRank(const std::string& path, std::uint64_t seed) : random_(seed) {
    options_.sharding = {.pp = 2};
    options_.rank_timeout = 0.02;
    options_.rank_workers = 1;
    follower_ = std::thread([this, file = Checkpoint::open(path)] {
      try {
        follow(file, options_, *endpoints_[1], 2);
      } catch (const std::exception& error) {
        why_ = error.what();
        endpoints_[1]->abandon(why_);
      }
    });
  }
  ~HostileRank() { end(); }

  // Returns why the other rank has ended; "" if it was sent away.
  std::string end() {
    if (follower_.joinable()) {
      send({.kind = CommandKind::leave}, {});
      follower_.join();
    }
    return why_;
  }

  // What the other rank answers, or nothing.
  std::string answer() {
    try {
      const auto bytes = endpoints_[0]->receive(1, Channel::control, 10);
      return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    } catch (const RankError&) {
      return "";
    }
  }
  void open(std::string_view options) {
    send({.kind = CommandKind::open, .session = 1}, std::as_bytes(std::span(options)));
  }
  // False: the other rank has ended.
  bool send(const Command& command, std::span<const std::byte> more) {
    return send(Channel::control, message_.write(command, more));
  }
  bool send(Channel channel, std::span<const std::byte> bytes) {
    try {
      endpoints_[0]->send(1, channel, bytes);
      return true;
    } catch (const RankError&) {
      return false;
    }
  }

  // A number that may have a meaning, or none.
  std::int64_t number() {
    constexpr std::array<std::int64_t, 12> kNumbers{
        0, 1, 2, 5, 63, 64, -1, 1 << 20, std::int64_t{1} << 40, INT32_MIN, INT64_MAX, INT64_MIN};
    return kNumbers[random_() % kNumbers.size()];
  }
  bool send_nonsense() {
    Command command{.kind = static_cast<CommandKind>(random_() % 11),
                    .session = random_() % 8 == 0 ? 7 : 1,
                    .undo = static_cast<std::int32_t>(random_() % 2),
                    .verify = random_() % 16 == 0 ? 1 : 0,
                    .numbers = {number(), number(), number()}};
    if (command.kind == CommandKind::leave || command.kind == CommandKind::open)
      command.kind = CommandKind::step;
    if (command.kind == CommandKind::echo) command.numbers[1] = 1;
    if (command.kind == CommandKind::step) return send_step(command);
    return send(command, junk(random_() % 40));
  }

 private:
  bool send_step(const Command& command) {
    std::vector<StepToken> tokens(random_() % 8);
    const bool wrong = random_() % 2 == 0;
    for (StepToken& t : tokens) {
      t.token = static_cast<std::int32_t>(wrong ? number() : random_() % 32);
      t.sequence = static_cast<std::int32_t>(wrong ? number() : 0);
      t.type = static_cast<std::int32_t>(random_() % 16 == 0 ? number() : 0);
    }
    const auto sent = std::as_bytes(std::span(tokens));
    std::vector<std::byte> bytes(sent.begin(), sent.end());
    if (random_() % 4 == 0 && !bytes.empty())
      bytes[random_() % bytes.size()] = static_cast<std::byte>(random_());
    // What it computes from, of any size.
    if (!send(Channel::data, junk(64 * (random_() % 12)))) return false;
    return send(command, bytes);
  }
  std::vector<std::byte> junk(std::size_t n) {
    std::vector<std::byte> bytes(n);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random_());
    return bytes;
  }

  std::mt19937_64 random_;
  ModelOptions options_;
  std::vector<std::unique_ptr<Communicator>> endpoints_ = in_process_communicators(2);
  Message message_;
  std::string why_;
  std::thread follower_;
};

TEST_CASE("ranks survive what a hostile rank 0 sends") {
  const test::TempFolder folder;
  const std::string path = (folder / "tiny.gguf").string();
  test::write_tiny_model({}, path);
  const std::string options = options_text({.context = 64, .prefill_width = 5, .workers = 1});
  int n_errors = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    HostileRank rank(path, seed);
    CHECK(rank.answer().starts_with("build "));
    rank.open(options);
    CHECK(rank.answer().starts_with(kOpened));
    for (int i = 0; i < 20 && rank.send_nonsense(); ++i) {
    }
    n_errors += rank.end().empty() ? 0 : 1;
  }
  CHECK(n_errors > 30);
}

TEST_CASE("wrong options of a session are answered with an error") {
  const test::TempFolder folder;
  const std::string path = (folder / "tiny.gguf").string();
  test::write_tiny_model({}, path);
  HostileRank rank(path, 1);
  CHECK(rank.answer().starts_with("build "));
  const std::string good = options_text({.context = 64, .prefill_width = 5, .workers = 1});
  const auto with = [&](std::string_view what, std::string_view instead) {
    std::string text = good;
    const std::size_t at = text.find(what);
    REQUIRE(at != text.npos);
    return text.replace(at, what.size(), instead);
  };
  for (const std::string& wrong : {std::string(), std::string("{}"), std::string("[1"),
                                   with("\"context\":64", "\"context\":-5"),
                                   with("\"context\":64", "\"context\":9000000000000000000"),
                                   with("\"prefill_width\":5", "\"prefill_width\":0"),
                                   with("\"sequences\":1", "\"sequences\":-1"),
                                   with("\"weights\":\"auto\"", "\"weights\":\"x\""),
                                   with("\"backend\":\"cpu\"", "\"backend\":\"none\"")}) {
    CAPTURE(wrong);
    rank.open(wrong);
    CHECK_FALSE(rank.answer().starts_with(kOpened));
  }
  rank.open(good);
  CHECK(rank.answer().starts_with(kOpened));
  CHECK(rank.end().empty());
}

}  // namespace
}  // namespace weft::run
