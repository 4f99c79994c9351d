#pragma once
// The flags for a model that is divided among ranks (weft/run/ranks.h).

#include <string>
#include <vector>

#include "weft/program/flags.h"

namespace weft::server {

void add_rank_flags(cli::App& app, Flags& flags);

// Throws UsageError for flags that cannot be combined. `key_given`: --api-key.
void check_rank_flags(const Flags& flags, bool key_given);

// Throws UsageError for flags that the ranks cannot have that a launcher started, of which this
// process is one.
void check_launched(const Flags& flags);

// The arguments without --launch and --restart: those of the server that --launch starts.
std::vector<std::string> without_launch(const std::vector<std::string>& arguments);

}  // namespace weft::server
