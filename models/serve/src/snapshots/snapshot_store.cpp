#include "snapshots/snapshot_store.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/base/two_threads.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/run/kept_texts.h"
#include "weft/scheduler/memory_room.h"

namespace weft::serve {
namespace {

// Fewer tokens are not worth a file, nor a search on the disk.
constexpr std::int64_t kMinTokens = 32;
// About the bytes of a file: texts pause while they are copied.
constexpr std::int64_t kFileBytes = std::int64_t{16} << 20;
// Those of all labels, which are in memory. Files beyond are not read, nor written.
constexpr std::int64_t kMaxLabelTokens = std::int64_t{4} << 20;
constexpr double kListEvery = 1, kRestAfterFailure = 30;  // seconds
// What the measured speed of reading gains each time that reading did not seem to pay, so that it
// is tried again.
constexpr double kForget = 1.1;

std::int64_t file_tokens(const Session& session) {
  const double each = std::max(kept_bytes(session).per_token, 1.0);
  const std::int64_t most = std::min(kFileBytes, process_ledger().limit() / 4);
  const auto n = static_cast<std::int64_t>(static_cast<double>(most) / each);
  return std::max<std::int64_t>(1, n / kCellsPerBlock) * kCellsPerBlock;
}

// The owner of the files of a scope. The scales of LoRAs have no line break.
std::string owner_of(const Scope& scope) {
  return fmt::format("{}\n{}", fmt::join(scope.lora_scales, ","), scope.owner);
}

struct Damage {
  std::size_t file;
  std::string why;
};

// The first file that cannot be read or does not have its checksum.
std::optional<Damage> first_damaged(std::span<const SnapshotFile> files) {
  std::vector<std::string> why(files.size());
  std::int64_t n_bytes = 0;
  for (const SnapshotFile& file : files) n_bytes += file.n_bytes();
  on_two_threads(files.size(), n_bytes, [&](std::size_t i) {
    try {
      files[i].check_contents();
    } catch (const std::exception& e) {
      why[i] = e.what();
    }
  });
  const auto bad = std::ranges::find_if(why, [](const std::string& w) { return !w.empty(); });
  if (bad == why.end()) return {};
  return Damage{static_cast<std::size_t>(bad - why.begin()), *bad};
}

}  // namespace

std::vector<const Snapshot*> SnapshotStore::Open::chain() const {
  std::vector<const Snapshot*> chain;
  for (const SnapshotFile& file : files) chain.push_back(&file.snapshot());
  return chain;
}

SnapshotStore::SnapshotStore(Session& session, const SnapshotOptions& options,
                             std::function<void()> wake)
    : session_(session),
      options_(options),
      origin_(origin_of(session, 0)),
      folder_(options.folder, origin_, options.max_bytes),
      writer_(folder_, std::move(wake)) {
  read_labels();
}

void SnapshotStore::warn(const std::string& what) {
  if (options_.warn) options_.warn(what);
}

void SnapshotStore::drop(std::uint64_t key, const std::string& why) {
  warn(fmt::format("ignores a snapshot: {}", why));
  tree_.remove(key);
}

// Adds a file to the tree. Returns false if what is before it is not there.
bool SnapshotStore::read_label(std::uint64_t key) {
  if (tree_.n_tokens() > kMaxLabelTokens || !tree_.has_room()) return true;
  try {
    const SnapshotFile file = SnapshotFile::open(folder_.path_of(key));
    const SnapshotLabel& label = file.label();
    if (label.key != key || label.origin != origin_)
      fail<FormatError>("{}: its label is that of another file",
                        printable_path(folder_.path_of(key)));
    return tree_.add(label, file.snapshot(), file.n_bytes(), true);
  } catch (const FormatError& e) {
    warn(fmt::format("removes a snapshot: {}", e.what()));
    writer_.remove({key});
  } catch (const Error& e) {  // says nothing about the file, or it is that of another version
    if (ignored_.insert(key).second) warn(fmt::format("ignores a snapshot: {}", e.what()));
  }
  return true;
}

// A file may be listed before the one that it begins in.
void SnapshotStore::read_labels() {
  listed_ = Clock::now();
  if (!folder_.has_changed()) return;
  std::vector<std::uint64_t> missing = folder_.keys();
  std::erase_if(missing,
                [&](std::uint64_t key) { return tree_.has(key) || orphans_.contains(key); });
  for (std::size_t before = missing.size() + 1; missing.size() < before;) {
    before = missing.size();
    std::erase_if(missing, [&](std::uint64_t key) { return read_label(key); });
  }
  // What they begin in was removed. They go when the folder needs room.
  orphans_.insert(missing.begin(), missing.end());
}

bool SnapshotStore::pays(const SnapshotTree::Match& match, std::int64_t n_held,
                         const PromptPrice& price) {
  const double middle = static_cast<double>(n_held + match.n) / 2;
  const double computing = price.seconds(middle) * static_cast<double>(match.n - n_held);
  if (bytes_per_second_ == 0 || computing == 0) return true;
  double n_bytes = 0;
  for (const SnapshotTree::Node* node : match.chain) n_bytes += static_cast<double>(node->n_bytes);
  if (n_bytes / bytes_per_second_ < computing) return true;
  bytes_per_second_ *= kForget;
  ++counters_.slower;
  return false;
}

// While files are read, their pages count as the control group's.
bool SnapshotStore::has_room(const SnapshotTree::Match& match) const {
  if (!folder_.is_limited()) return true;
  std::int64_t n_bytes = 0;
  for (const SnapshotTree::Node* node : match.chain) n_bytes += node->n_bytes;
  return n_bytes < memory_room().bytes;
}

// Opens and checks the files of the match. Empty if one of them cannot be used.
std::optional<SnapshotStore::Open> SnapshotStore::open(const SnapshotTree::Match& match,
                                                       std::int64_t n_held) {
  Open open;
  std::vector<std::uint64_t> used;
  for (const SnapshotTree::Node* node : match.chain) {
    const std::uint64_t key = node->key;
    try {
      open.files.push_back(SnapshotFile::open(folder_.path_of(key)));
      if (open.files.back().snapshot().tokens != node->tokens)
        fail<FormatError>("{}: has other tokens than before", printable_path(folder_.path_of(key)));
      used.push_back(key);
    } catch (const Error& e) {
      drop(key, e.what());
      return {};
    }
  }
  try {
    open.n = resume_point(session_, open.chain(), match.n);
    if (open.n - n_held < kMinTokens) return {};
  } catch (const FormatError& e) {
    drop(used.back(), e.what());
    return {};
  }
  while (open.files.back().snapshot().begin >= open.n) open.files.pop_back();
  if (const auto bad = first_damaged(open.files)) {
    writer_.remove({used[bad->file]});
    drop(used[bad->file], bad->why);
    return {};
  }
  return open;
}

std::optional<SnapshotStore::Open> SnapshotStore::find(const Scope& scope,
                                                       std::span<const TokenId> ids,
                                                       std::int64_t n_held,
                                                       const PromptPrice& price) {
  const std::string owner = owner_of(scope);
  SnapshotTree::Match match = tree_.match(owner, ids, true);
  if (match.n - n_held < kMinTokens && seconds_since(listed_) > kListEvery) {
    read_labels();  // another process may have written some
    match = tree_.match(owner, ids, true);
  }
  if (match.n - n_held < kMinTokens || !has_room(match) || !pays(match, n_held, price)) return {};
  const Clock::time_point begin = Clock::now();
  std::optional<Open> found = open(match, n_held);
  counters_.seconds += seconds_since(begin);
  return found;
}

void SnapshotStore::restore(std::int32_t sequence, const Open& open) {
  const Clock::time_point begin = Clock::now();
  weft::restore(session_, sequence, open.chain(), open.n);
  for (const SnapshotFile& file : open.files) file.check_mapped();
  double n_bytes = 0;
  for (const SnapshotFile& file : open.files) n_bytes += static_cast<double>(file.n_bytes());
  counters_.seconds += seconds_since(begin);
  counters_.bytes_read += static_cast<std::uint64_t>(n_bytes);
  counters_.tokens_read += static_cast<std::uint64_t>(open.n);
  bytes_per_second_ = static_cast<double>(counters_.bytes_read) / counters_.seconds;
}

void SnapshotStore::close(Open open) {
  std::vector<std::uint64_t> used;
  for (const SnapshotFile& file : open.files) used.push_back(file.label().key);
  open.files.clear();  // pages that are mapped cannot be evicted
  for (const std::uint64_t key : used) folder_.forget_pages(key);
  writer_.touch(std::move(used));
}

bool SnapshotStore::may_save() const {
  const Ledger& ledger = process_ledger();
  return writer_.has_room() && seconds_since(failed_) > kRestAfterFailure &&
         tree_.n_tokens() <= kMaxLabelTokens && tree_.has_room() &&
         ledger.used() + file_bytes() <= ledger.limit();
}

// The ledger's limit is known once the model is loaded, and may change.
std::int64_t SnapshotStore::file_bytes() const {
  return snapshot_bytes(session_, file_tokens(session_));
}

bool SnapshotStore::save(std::int32_t sequence, const Scope& scope) {
  const std::int64_t length = session_.length(sequence);
  const std::vector<TokenId> ids = held_tokens(session_, sequence, 0, length);
  const std::string owner = owner_of(scope);
  const SnapshotTree::Match match = tree_.match(owner, ids, false);
  if (length - match.n < kMinTokens) return false;
  const bool branches = !match.chain.empty() && match.n < match.chain.back()->end();
  Taken memory(Account::snapshots);
  if (!memory.resize(file_bytes())) return false;
  SnapshotWriter::Job job{.label = SnapshotTree::place(match, owner),
                          .snapshot = {},
                          .bytes = {},
                          .memory = std::move(memory)};
  job.snapshot =
      take_snapshot(session_, sequence, match.n, std::min(length, match.n + file_tokens(session_)),
                    branches ? SnapshotKind::whole_windows : SnapshotKind::own_tokens, job.bytes);
  job.memory.set(std::ssize(job.bytes));
  job.label.origin = origin_;
  job.label.key = SnapshotTree::key_of(job.label, job.snapshot.tokens);
  if (!tree_.add(job.label, job.snapshot, std::ssize(job.bytes), false)) return false;
  writer_.write(std::move(job));
  return true;
}

bool SnapshotStore::update() {
  const SnapshotWriter::Results results = writer_.results();
  for (const std::uint64_t key : results.written) tree_.set_written(key);
  for (const std::uint64_t key : results.failed) tree_.remove(key);
  for (const std::uint64_t key : results.removed) tree_.remove(key);
  counters_.written += results.written.size();
  counters_.removed += results.removed.size();
  counters_.failed += results.failed.size();
  if (results.why_failed.empty()) return !results.written.empty() || !results.removed.empty();
  failed_ = Clock::now();
  warn(fmt::format("no snapshots are written for {} s: {}", kRestAfterFailure, results.why_failed));
  return true;
}

void SnapshotStore::wait(Clock::time_point until) {
  writer_.wait(until);
  update();
}

}  // namespace weft::serve
