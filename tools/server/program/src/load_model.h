#pragma once
// From flags to a model that answers requests.

#include <cstdint>
#include <functional>
#include <memory>

#include "weft/api/context.h"
#include "weft/hosting/model_pool.h"
#include "weft/hosting/server_metrics.h"
#include "weft/program/flags.h"

namespace weft::server {

// Called with the text of a warning.
using Warn = std::function<void(std::string_view)>;

// Reads the file's header and vocabulary; weights are read when an engine is made. Throws like
// Model::load(); the message names the file.
std::shared_ptr<const Model> open_model(const Flags& flags, const std::string& path,
                                        const Warn& warn);

// Loads the weights and starts the engine. `used`: bytes of the memory budget that other models
// have. Without --parallel and --ctx-size, there are fewer slots, then shorter contexts, until the
// budget is met with steps that are not very narrow. Slots may share fewer cells than all their
// contexts have, if that leaves room for resident weights. `progress` returns false to stop
// (CancelledError). Throws BudgetError and like Engine.
std::shared_ptr<api::ServedModel> start_model(const std::shared_ptr<const Model>& model,
                                              const HostedModel& source, const Flags& flags,
                                              std::int64_t used, ServerMetrics& metrics,
                                              const std::function<bool(double)>& progress,
                                              const Warn& warn);

}  // namespace weft::server
