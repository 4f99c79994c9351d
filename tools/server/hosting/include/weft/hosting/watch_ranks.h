#pragma once
// Notices that a sharded model has lost a rank (weft/run/ranks.h): then none of its steps can
// succeed any more.

#include <functional>
#include <memory>
#include <string>

#include "weft/api/context.h"

namespace weft::server {

// Passes everything on to the source. If a text or an embedding fails with RankError, `lost` is
// called once with the error's message, on the thread that notices it.
std::shared_ptr<api::TextSource> watch_ranks(std::shared_ptr<api::TextSource> source,
                                             std::function<void(const std::string& why)> lost);

}  // namespace weft::server
