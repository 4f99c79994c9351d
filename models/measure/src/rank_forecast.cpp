#include "weft/measure/rank_forecast.h"

#include <algorithm>
#include <optional>

#include "weft/base/error.h"
#include "weft/run/memory_plan.h"
#include "weft/run/ranks.h"

#include "step_time.h"

namespace weft::bench {
namespace {

// Seconds of a group of ranks, whose members take about the same time.
struct StageTime {
  double decode = 0, decode_exchanges = 0;
  double chunk = 0;  // for a part of a prompt
};

Extents extents_of(const Graph& graph, std::int64_t tokens) {
  Extents extents = graph.bounds();
  for (std::size_t i = 0; i < graph.variables().size(); ++i)
    extents[i] = graph.variables()[i].name == "T" ? tokens : 1;
  return extents;
}

// Seconds of the exchanges of a step that computes for so many seconds.
double exchange_seconds(const Graph& graph, std::int64_t tokens, const LinkSpeed& link,
                        bool results, double compute_seconds) {
  const Extents extents = extents_of(graph, tokens);
  const double rate = multiply_adds_of(graph, extents) / compute_seconds;
  return traffic_of(graph, extents, link, results, rate).seconds;
}

StageTime time_stage(const std::shared_ptr<const Model>& model, PlannedModel planned,
                     std::int64_t chunk, const RankForecastOptions& how) {
  planned.options.sample_weights = true;
  Session session(std::move(planned), model);
  const auto exchanges = [&](std::int64_t tokens, bool results, double seconds) {
    const Graph& graph = session.graph(session.plan_for(tokens));
    return exchange_seconds(graph, tokens, how.link, results, seconds);
  };
  StageTime time;
  time.decode = decode_seconds(session, 0, how.seconds, how.cancel);
  time.decode_exchanges = exchanges(1, true, time.decode);
  session.truncate(0, 0);
  time.chunk = step_seconds(session, 0, chunk, how.seconds, how.cancel);
  time.chunk += exchanges(chunk, false, time.chunk);
  return time;
}

class Forecaster {
 public:
  Forecaster(const std::string& path, const ModelOptions& model, const SessionOptions& session,
             const RankForecastOptions& how)
      : file_(Checkpoint::open(
            path, {.allow_unknown_settings = model.allow_unknown_settings, .rank_files = true})),
        model_(model),
        session_(session),
        how_(how) {}

  RankForecast run() {
    RankForecast result{.sharding = model_.sharding};
    const int tp = model_.sharding.tp, pp = model_.sharding.pp;
    std::vector<StageTime> stages;
    for (int rank = 0; rank < model_.sharding.ranks(); ++rank) {
      model_.lone_rank = rank;
      const auto model = Model::load(file_, model_);
      std::optional<PlannedModel> fits = plan_if_fits(*model, session_);
      if (!fits) return {.sharding = model_.sharding, .refused = "a rank does not fit the budget"};
      PlannedModel planned = std::move(*fits);
      const Graph& decode = planned.graphs.front();
      result.ranks.push_back(
          {.rank = rank,
           .memory = planned.memory,
           .decode = traffic_of(decode, extents_of(decode, 1), how_.link, true)});
      const int stage = rank / tp;
      // All stages but the first and the last are alike.
      const bool timed = how_.seconds > 0 && rank % tp == 0;
      const bool like_last = stage > 1 && stage + 1 < pp;
      if (timed && like_last) stages.push_back(stages.back());
      if (timed && !like_last) {
        chunk_ = prompt_chunk(*model, planned.options.prefill_width, how_.prompt);
        stages.push_back(time_stage(model, std::move(planned), chunk_, how_));
      }
    }
    if (!stages.empty()) sum_up(stages, result);
    return result;
  }

 private:
  void sum_up(const std::vector<StageTime>& stages, RankForecast& result) const {
    double decode = 0, exchanges = 0, longest = 0;
    for (const StageTime& stage : stages) {
      decode += stage.decode + stage.decode_exchanges;
      exchanges += stage.decode_exchanges;
      longest = std::max(longest, stage.chunk);
    }
    const std::int64_t chunks = (how_.prompt + chunk_ - 1) / chunk_;
    const double prefill = longest * static_cast<double>(chunks + std::ssize(stages) - 1);
    result.decode = 1 / decode;
    result.exchanges = exchanges / decode;
    result.prefill = static_cast<double>(how_.prompt) / prefill;
  }

  const Checkpoint file_;
  ModelOptions model_;
  const SessionOptions session_;
  const RankForecastOptions how_;
  std::int64_t chunk_ = 1;
};

}  // namespace

std::int64_t RankForecast::largest_rank_bytes() const {
  std::int64_t most = 0;
  for (const RankNeed& rank : ranks) most = std::max(most, rank.memory.total());
  return most;
}

RankForecast forecast_ranks(const std::string& path, const ModelOptions& model,
                            const SessionOptions& session, const RankForecastOptions& how) {
  try {
    return Forecaster(path, model, session, how).run();
  } catch (const ValueError& error) {
    return {.sharding = model.sharding, .refused = error.what()};
  } catch (const UnsupportedError& error) {
    return {.sharding = model.sharding, .refused = error.what()};
  }
}

std::vector<Sharding> shardings_of(int ranks) {
  std::vector<Sharding> all;
  for (int tp = ranks; tp >= 1; --tp)
    if (ranks % tp == 0) all.push_back({.tp = tp, .pp = ranks / tp});
  return all;
}

}  // namespace weft::bench
