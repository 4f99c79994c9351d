#include "weft/check/rank_checks.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "weft/arch/made_source.h"
#include "weft/base/error.h"
#include "weft/check/verify_model.h"
#include "weft/files/made_model.h"
#include "weft/run/ranks.h"
#include "weft/scheduler/message_check.h"

#include "capture.h"
#include "sanity.h"

namespace weft {
namespace {

using namespace checks;

using RankRows = std::vector<float>;

// The widest step: with the model below, ranks exchange its sums in several chunks, and scatter
// them if they are three or more in a group (scheduler/src/exchange/sum_chunks.h).
constexpr std::int64_t kWidest = 512;
constexpr std::int64_t kMinColumns = 128;

// check_messages() between n threads.
std::string check_messages_in_process(int n, double timeout) {
  const auto endpoints = in_process_communicators(n);
  std::vector<std::jthread> others;
  for (std::size_t r = 1; r < endpoints.size(); ++r) {
    others.emplace_back([&own = *endpoints[r], timeout] {
      try {
        check_messages(own, timeout);
      } catch (const std::exception&) {
        // Rank 0 was told.
      }
    });
  }
  return check_messages(*endpoints.front(), timeout);
}

// A model that the sharding divides, in a file that is removed at the end.
class MadeRankModel {
 public:
  explicit MadeRankModel(const Sharding& sharding)
      : path_((std::filesystem::temp_directory_path() / fmt::format("weft-ranks-{}.gguf", getpid()))
                  .string()) {
    constexpr std::int64_t kHeadSize = 32;
    constexpr std::int64_t kMinHeads = kMinColumns / kHeadSize;
    const std::int64_t tp = sharding.tp, heads = (kMinHeads + tp - 1) / tp * tp;
    arch::MadeSource source("llama", {.L = std::int64_t{2} * sharding.pp,
                                      .D = kHeadSize * heads,
                                      .H = heads,
                                      .G = heads,
                                      .F = kHeadSize * heads,
                                      .V = 96});
    source.learn();
    write_made_model(source, path_);
  }
  MadeRankModel(const MadeRankModel&) = delete;
  MadeRankModel& operator=(const MadeRankModel&) = delete;
  ~MadeRankModel() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class RankChecks {
 public:
  explicit RankChecks(const RankCheckOptions& options)
      : options_(options),
        load_{.sharding = options.sharding,
              .slow_link = options.slow_link,
              .rank_timeout = options.timeout} {
    load_.sharding.min_elems = 0;
    for (std::int32_t i = 0; i < kWidest + 7; ++i) tokens_.push_back(i * i % 89);
  }

  void run();
  void follow() const;

  std::vector<SelfCheck> all;

 private:
  // Whether it passed.
  bool check(const std::string& name, const std::function<std::string()>& f) {
    if (options_.progress) options_.progress(name);
    all.push_back(run_check(name, f));
    return all.back().verdict == Verdict::passed;
  }
  SessionOptions session() const {
    const SessionOptions& given = options_.session;
    SessionOptions session{.context = std::ssize(tokens_), .prefill_width = kWidest};
    session.logits_rows = session.prefill_width;
    session.workers = std::max(given.workers, 1);
    session.executor = given.executor;
    session.backend = given.backend;
    session.route = given.route;
    session.cache_k = given.cache_k;
    session.cache_v = given.cache_v;
    session.passes_off = given.passes_off;
    return session;
  }
  // The logits of a prompt in two chunks, and of two more tokens.
  RankRows logits(Session& session) const {
    const std::size_t steps[] = {kWidest, 5, 1, 1};
    session.truncate(0, 0);
    return all_logits(session, 0, tokens_, steps);
  }
  std::string messages() const;
  std::string repeats(const std::string& path);
  std::string as_one_rank(const std::string& path) const;
  std::string nodes() const;

  const RankCheckOptions& options_;
  std::vector<std::int32_t> tokens_;
  ModelOptions load_;
  std::shared_ptr<const Model> model_;
  RankRows rows_;
};

std::string RankChecks::messages() const {
  return launched_ranks() > 1
             ? check_messages(launched_communicator(), options_.timeout)
             : check_messages_in_process(options_.sharding.ranks(), options_.timeout);
}

std::string RankChecks::repeats(const std::string& path) {
  model_ = Model::load(path, load_);
  Session session(model_, this->session());
  rows_ = logits(session);
  const RankRows again = logits(session);
  if (rows_.size() != again.size() ||
      std::memcmp(rows_.data(), again.data(), rows_.size() * sizeof(float)) != 0)
    throw Failed{"the same tokens gave other logits the second time"};
  return fmt::format("a made model, {}, {} positions twice, same bits", to_string(load_.sharding),
                     tokens_.size());
}

// Ranks add up the terms of a sum in another order than one rank.
std::string RankChecks::as_one_rank(const std::string& path) const {
  Session session(Model::load(path), this->session());
  const RankRows alone = logits(session);
  const double distance = nmse(rows_, alone);
  if (load_.sharding.tp == 1) {
    if (std::memcmp(rows_.data(), alone.data(), alone.size() * sizeof(float)) != 0)
      throw Failed{fmt::format("other bits than one rank has; nmse {:.2g}", distance)};
    return "same bits";
  }
  if (!(distance <= kRewriteLimit))
    throw Failed{
        fmt::format("nmse {:.2g}, at most {:.2g} from the order of sums", distance, kRewriteLimit)};
  return fmt::format("nmse {:.2g}, at most {:.2g} from the order of sums", distance, kRewriteLimit);
}

std::string RankChecks::nodes() const {
  const ModelVerification found = verify_model(model_, {.session = session(), .tokens = tokens_});
  if (const NodeCheck* bad = found.first_bad())
    throw Failed{fmt::format("'{}' ({}) has an error of {:.2g} bounds", bad->path, bad->op,
                             bad->worst_ratio)};
  if (!found.passed()) throw Failed{found.stopped};
  std::size_t n = 0;
  for (const VerifiedStep& step : found.steps) n += step.report.nodes.size();
  return fmt::format("{} nodes, all within their bounds", n);
}

void RankChecks::run() {
  if (!check("messages", [&] { return messages(); })) return;
  const MadeRankModel made(options_.sharding);
  if (!check("ranks repeat", [&] { return repeats(made.path()); })) return;
  if (!check("ranks = one rank", [&] { return as_one_rank(made.path()); })) return;
  check("nodes of all ranks", [&] { return nodes(); });
}

void RankChecks::follow() const {
  messages();
  const MadeRankModel made(options_.sharding);
  follow_rank_0(made.path(), load_);
}

}  // namespace

std::vector<SelfCheck> check_ranks(const RankCheckOptions& options) {
  const int started = launched_ranks();
  if (started > 1) check_number_of_ranks(options.sharding, started);
  RankChecks checks(options);
  try {
    follows_rank_0() ? checks.follow() : checks.run();
  } catch (const std::exception& error) {
    if (started > 1) launched_communicator().abandon(error.what());
    throw;
  }
  const bool failed = std::ranges::any_of(
      checks.all, [](const SelfCheck& c) { return c.verdict == Verdict::failed; });
  if (failed && started > 1) launched_communicator().abandon(checks.all.back().detail);
  return std::move(checks.all);
}

}  // namespace weft
