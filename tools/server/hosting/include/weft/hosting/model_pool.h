#pragma once
// The models that a server has, loaded when they are requested. A thread of the pool loads and
// unloads them, one at a time, while others run. A model whose files were overwritten or truncated
// is loaded again for the next request; those that run fail.

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/api/context.h"
#include "weft/hosting/hosted_model.h"
#include "weft/serve/engine.h"

namespace weft::server {

struct PoolOptions {
  std::vector<HostedModel> models;
  int max_loaded = 1;  // 0: all that fit into the budget
  // Max requests that wait for one model to be loaded; more get QueueFullError.
  std::size_t max_waiting = 256;
  // Refuse requests for the only model until it is loaded. Otherwise they wait.
  bool refuse_until_loaded = false;
  // Bytes of all models and of the ledger of the process, whose limit the pool sets.
  std::int64_t budget = std::numeric_limits<std::int64_t>::max();
  // Loads a model. `used`: bytes of the other loaded models. Throws.
  std::function<std::shared_ptr<api::ServedModel>(const HostedModel&, std::int64_t used)> load;
  // Called on the pool's thread after each attempt to load, with null if it succeeded. May be
  // empty.
  std::function<void(const HostedModel&, std::exception_ptr error)> loaded;
};

struct PooledModel {
  std::string name;
  std::shared_ptr<const api::ServedModel> served;
};

// The counters of engines, also of those that were unloaded: they never fall.
struct PoolCounters {
  EngineCounters engines;
  std::int64_t n_running = 0, n_waiting = 0, n_slots = 0;
  std::int64_t held_texts = 0, held_tokens = 0, held_bytes = 0;  // EngineState's
  std::int64_t snapshot_files = 0, snapshot_bytes = 0;           // likewise
  MemoryLevel memory_level = MemoryLevel::enough;                // the highest one
  MemoryUse memory;
  std::int64_t allocated_bytes = 0;  // EngineState's
  std::uint64_t loads = 0, unloads = 0;
};

class ModelPool : public api::Models {
 public:
  // Throws ValueError if two models have the same name.
  explicit ModelPool(PoolOptions options);
  // Like stop(), and unloads everything. REQUIRES: no model is held.
  ~ModelPool() override;

  // Ends loading: requests that wait for a model, and later ones, get an error 503. Loaded models
  // stay loaded. From one thread.
  void stop();

  // The model that `ready` gets stays loaded while it is held. It may be released on any thread.
  void find(std::string_view name, Ready ready) override;
  std::vector<api::ListedModel> list() const override;

  // Loads a model again, as soon as no request holds it. Requests that come meanwhile wait, or are
  // refused if PoolOptions says so. Nothing happens if it is not loaded. Any thread.
  void reload(std::string_view name);

  enum class State { loading, ready, failed };
  // The state of a preloaded model; else always ready.
  State state() const;
  std::vector<PooledModel> loaded() const;
  PoolCounters counters() const;
  // Waits until no model is held, at most until then. Returns whether it is so.
  bool wait_released(Clock::time_point until);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::server
