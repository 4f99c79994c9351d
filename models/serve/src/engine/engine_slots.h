#pragma once
// The slots of an engine: which text of the queue starts next, and where; how texts end; which one
// has to go if memory is short.

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/engine_request.h"
#include "engine/sequence_store.h"

namespace weft::serve {

class EngineQueue;
class MovedTexts;
class TextsOnDisk;

struct EngineSlot {
  std::int32_t index = 0;            // also the number of its sequence
  std::unique_ptr<EngineText> text;  // null: the slot is idle
};

// Owned by the engine's thread, which also calls the listeners from here. Invariants:
//   - A text is in the queue, in one slot, or has ended.
//   - A text in a slot has a generation of the slot's sequence and is attached to it in the store.
//   - The inbox counts the texts in the queue and in slots. When a listener is told that a text
//     ended, its slot is already idle there.
class EngineSlots {
 public:
  // `n`: number of slots. The others must outlive it.
  EngineSlots(Session& session, const Speculation& speculation, EngineInbox& inbox,
              EngineQueue& queue, SequenceStore& store, const MovedTexts& moved, TextsOnDisk& disk,
              std::int32_t n);

  std::span<EngineSlot> all() { return slots_; }
  std::size_t n_running() const;

  // Moves texts from the queue to idle slots, as far as there is memory for them.
  void start_texts();
  // Ends the texts of cancelled requests, in slots and in the queue.
  void end_cancelled();
  // The text in the slot ends with this event.
  void end_text(EngineSlot& slot, const GenerationEvent& event);
  // All texts of the request end with the error.
  void fail_request(std::shared_ptr<EngineRequest> request, const std::exception_ptr& error);
  // Everything that runs or waits ends with the error, and all sequences are emptied, so that the
  // engine can go on.
  void fail_all(const std::exception_ptr& error);
  // Returns the youngest text to the queue, because memory is too short for all running texts. It
  // is computed again from its tokens, which gives the same bits. REQUIRES: a text runs.
  void preempt_youngest();
  // The inbox gets the counters of drafts.
  void count_drafts();

 private:
  using TextPtr = std::unique_ptr<EngineText>;
  using Reuse = SequenceStore::Reuse;

  bool has_idle_slot(const EngineText& text) const;
  bool may_start(EngineText& text, Reuse& reuse) const;
  bool has_room(const EngineText& text, const Reuse& reuse) const;
  void start(TextPtr text, EngineSlot& slot, Reuse reuse);
  void begin(EngineText& text, std::int32_t slot);
  TextPtr leave(EngineSlot& slot, bool returns = false);
  void end_waiting(EngineText& text);
  void report_end(EngineText& text, const GenerationEvent& event, std::string_view stop_string);

  Session& session_;
  const Speculation& speculation_;
  EngineInbox& inbox_;
  EngineQueue& queue_;
  SequenceStore& store_;
  const MovedTexts& moved_;
  TextsOnDisk& disk_;
  std::vector<EngineSlot> slots_;
};

}  // namespace weft::serve
