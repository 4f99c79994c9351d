#pragma once
// Gives up memory while the control group or the machine is short of it, step by step: first what
// texts that ended left, then wide steps for prompts, then new requests. Texts that run go on, with
// the same bits.

#include <cstdint>
#include <memory>
#include <mutex>

#include "weft/serve/engine.h"

namespace weft::serve {

class EngineInbox;
class EngineStepper;
class MemoryWatch;
struct WatchedRoom;
class SequenceStore;

// Owned by the engine's thread, but for the watch's thread.
class MemoryGuard {
 public:
  // The others outlive it. Does nothing unless the options say so.
  MemoryGuard(Session& session, SequenceStore& store, EngineStepper& stepper, EngineInbox& inbox,
              const MemoryGuardOptions& options);
  ~MemoryGuard();

 private:
  WatchedRoom room() const;
  void react(const WatchedRoom& room);
  WatchedRoom give_up(WatchedRoom room);
  void set_level(MemoryLevel level, const WatchedRoom& room);

  Session& session_;
  SequenceStore& store_;
  EngineStepper& stepper_;
  EngineInbox& inbox_;
  const MemoryGuardOptions options_;
  MemoryLevel level_ = MemoryLevel::enough;
  std::mutex mutex_;
  bool told_ = false;                    // a task waits in the inbox; guarded by mutex_
  bool was_short_ = false;               // at the last look; owned by the watch's thread
  std::unique_ptr<WatchedRoom> latest_;  // what the watch said last; guarded by mutex_
  std::unique_ptr<MemoryWatch> watch_;   // last: its thread uses the others
};

}  // namespace weft::serve
