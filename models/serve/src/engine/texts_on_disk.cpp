#include "engine/texts_on_disk.h"

#include <utility>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"

#include "engine/engine_inbox.h"
#include "engine/engine_request.h"
#include "engine/slot_files.h"
#include "snapshots/snapshot_store.h"

namespace weft::serve {

TextsOnDisk::TextsOnDisk(Session& session, SequenceStore& store, EngineInbox& inbox,
                         const SnapshotOptions& options)
    : session_(session), store_(store), inbox_(inbox) {
  if (options.folder.empty()) return;
  std::string why = session.model().facts().gives_text() ? session.why_not_saved(0)
                                                         : "the model gives embeddings, not text";
  try {
    const auto wake = [&inbox] { inbox.post({.run = [] {}, .is_quiet = true}); };
    if (why.empty()) snapshots_ = std::make_unique<SnapshotStore>(session, options, wake);
  } catch (const Error& e) {
    why = e.what();
  }
  if (!why.empty() && options.warn)
    options.warn(
        fmt::format("{}: no snapshots: {}", printable_path(session.model().file().path()), why));
  report();
}

TextsOnDisk::~TextsOnDisk() = default;

bool TextsOnDisk::has_work() const {
  return is_on() && unsaved_ && snapshots_->may_save();
}

SequenceStore::Reuse TextsOnDisk::read_more(std::int32_t slot, const EngineText& text,
                                            SequenceStore::Reuse reuse) {
  const TextRequest& wanted = text.request->wanted;
  if (!is_on() || !wanted.reuse || wanted.slot >= 0 || (wanted.prompt_logprobs && text.index == 0))
    return reuse;
  const Scope scope = scope_of(text);
  const auto ids = text.tokens().first(text.tokens().size() - 1);  // the last gives the logits
  auto open = snapshots_->find(scope, ids, reuse.n, store_.price());
  if (!open) return reuse;
  store_.vacate(slot);
  session_.set_lora_scales(slot, scope.lora_scales);
  try {
    evict_for(store_, [&] { snapshots_->restore(slot, *open); });
  } catch (const Error&) {  // there is no room, or a file was cut meanwhile
    store_.clear(slot);
    return store_.find_reuse(text);
  }
  report();
  reuse = {.sequence = slot, .n = open->n, .why_not = "", .n_same = open->n};
  if (open->n < std::ssize(ids))
    reuse.why_not = fmt::format("what is held on disk ends or differs after token {}", open->n);
  snapshots_->close(std::move(*open));
  return reuse;
}

void TextsOnDisk::text_ended(std::int32_t slot) {
  unsaved_ = is_on();
  next_ = slot;
}

// Returns false if there is nothing to save of the sequence.
bool TextsOnDisk::save(std::int32_t sequence) {
  if (store_.is_busy(sequence) || !store_.tree().has(sequence)) return false;
  const Scope& scope = store_.scope(sequence);
  if (scope.has_moved_parts || !session_.why_not_saved(sequence).empty()) return false;
  return snapshots_->save(sequence, scope);
}

void TextsOnDisk::save_some() {
  if (!is_on()) return;
  if (snapshots_->update()) report();
  if (!has_work()) return;
  const std::int32_t n = session_.options().sequences + session_.options().kept;
  for (std::int32_t i = 0; i < n; ++i) {
    if (save(next_)) return;
    next_ = (next_ + 1) % n;
  }
  unsaved_ = false;
}

void TextsOnDisk::finish(double seconds) {
  if (!is_on()) return;
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(seconds));
  while (unsaved_ && Clock::now() < end) {
    if (!has_work()) snapshots_->wait(end);
    if (!has_work()) break;  // writing fails
    save_some();
  }
  snapshots_->wait(end);
}

void TextsOnDisk::report() {
  if (!is_on()) return;
  inbox_.update_state([&](EngineState& s) {
    s.counters.snapshots = snapshots_->counters();
    s.snapshot_files = static_cast<std::int64_t>(snapshots_->tree().size());
    s.snapshot_bytes = snapshots_->tree().n_bytes();
  });
}

}  // namespace weft::serve
