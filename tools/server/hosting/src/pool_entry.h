#pragma once
// A model of the pool: its files, and what serves it while it is loaded.

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "weft/api/context.h"
#include "weft/base/clock.h"
#include "weft/base/error.h"
#include "weft/base/ledger.h"
#include "weft/hosting/hosted_model.h"
#include "weft/hosting/model_files.h"
#include "weft/serve/engine.h"

namespace weft::server {

enum class Status { unloaded, loading, loaded, closing, failed };

inline const char* name_of(Status status) {
  switch (status) {
    case Status::unloaded:
      return "unloaded";
    case Status::loading:
      return "loading";
    case Status::loaded:
    case Status::closing:
      return "loaded";
    case Status::failed:
      return "failed";
  }
  return "unloaded";
}

struct Waiting {
  std::uint64_t ticket;
  api::Models::Ready ready;
};

struct Entry {
  HostedModel source;
  ModelFile file;
  Status status = Status::unloaded;
  std::shared_ptr<api::ServedModel> served;
  int holders = 0;              // of models that find() passed on
  std::uint64_t last_used = 0;  // a ticket
  std::deque<Waiting> waiting;  // for the model to be loaded
  Clock::time_point files_checked = {};
  LeftTexts left;  // what the engine kept, while the model is unloaded
  Taken left_memory{Account::texts};

  // Returns false if there were none.
  bool forget_left() {
    left_memory.set(0);
    return !std::exchange(left, {}).texts.empty();
  }
  bool is_loaded() const { return served != nullptr; }
  bool has_engine() const { return served && served->engine; }  // tests have none
};

// Asks the system at most once a second.
inline bool files_changed(Entry& entry) {
  if (!entry.has_engine()) return false;
  const Model& model = entry.served->engine->model();
  const auto now = Clock::now();
  const bool asks = now - entry.files_checked >= std::chrono::seconds(1);
  try {
    asks ? model.check_files() : model.check_mapped();
    if (asks) entry.files_checked = now;
    return false;
  } catch (const IoError&) {
    return true;
  }
}

// What the engine keeps; nothing if that fails, because it only saves time.
inline LeftTexts left_by(Engine& engine) {
  try {
    return engine.leave_texts().get();
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace weft::server
