#pragma once
// What `weft plan` says about a model that is divided among ranks.

#include <span>
#include <string>

#include "weft/measure/rank_forecast.h"

namespace weft::tools {

// A line for each rank: its memory by kind, and what it exchanges for a token. Then the forecast,
// if there is one.
std::string to_text(const bench::RankForecast& forecast, const LinkSpeed& link);

// A line for each sharding, and which one is best: the fastest that fits.
std::string to_text(std::span<const bench::RankForecast> shardings, const LinkSpeed& link);

}  // namespace weft::tools
