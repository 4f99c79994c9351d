#include "weft/hosting/model_pool.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include <pthread.h>

#include "weft/api/errors.h"
#include "weft/base/error.h"
#include "weft/base/ledger.h"
#include "weft/hosting/model_files.h"

#include "pool_entry.h"

namespace weft::server {
namespace {

std::exception_ptr shutting_down() {
  return std::make_exception_ptr(api::unavailable("the server is shutting down", "draining"));
}

}  // namespace

// The part of the pool that holders of models keep alive.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Entry> entries;  // never changes in size: addresses stay
};

struct ModelPool::Impl {
  explicit Impl(PoolOptions o);
  ~Impl();

  void stop();
  Entry* find_entry(std::string_view name);
  std::shared_ptr<const api::ServedModel> held(Entry& entry);
  void run();
  Entry* next_to_load();
  Entry* idle_longest(bool with_holders);
  bool make_room(std::unique_lock<std::mutex>& lock, bool one_more);
  void unload(std::unique_lock<std::mutex>& lock, Entry& entry);
  void load(std::unique_lock<std::mutex>& lock, Entry& entry);
  void answer(std::unique_lock<std::mutex>& lock, Entry& entry, const std::exception_ptr& error);
  std::int64_t used_by_engines() const;
  std::int64_t used_bytes() const;
  void set_ledger_limit();
  bool forget_texts();

  PoolOptions options;
  std::shared_ptr<Shared> shared = std::make_shared<Shared>();
  std::deque<Entry>& entries = shared->entries;
  EngineCounters retired;  // counters of unloaded engines
  std::uint64_t tickets = 0, loads = 0, unloads = 0;
  bool stopping = false;
  std::thread thread;
};

ModelPool::Impl::Impl(PoolOptions o) : options(std::move(o)) {
  for (HostedModel& source : options.models) {
    Entry& entry = entries.emplace_back();
    entry.source = std::move(source);
    entry.file = describe_file(entry.source.path);
    if (options.refuse_until_loaded) entry.status = Status::loading;
    if (entry.source.preload) entry.waiting.push_back({++tickets, [](auto&&...) {}});
  }
  thread = std::thread([this] { run(); });
}

ModelPool::Impl::~Impl() {
  stop();
  // Without the lock: engines that end release the objects that their requests hold.
  std::vector<std::shared_ptr<api::ServedModel>> last;
  const std::lock_guard lock(shared->mutex);
  for (Entry& entry : entries) last.push_back(std::exchange(entry.served, nullptr));
}

void ModelPool::Impl::stop() {
  {
    std::unique_lock lock(shared->mutex);
    stopping = true;
    shared->changed.notify_all();
  }
  if (thread.joinable()) thread.join();
  std::unique_lock lock(shared->mutex);
  for (Entry& entry : entries) answer(lock, entry, shutting_down());
}

Entry* ModelPool::Impl::find_entry(std::string_view name) {
  if (entries.size() == 1) return &entries.front();
  if (name.ends_with(":latest")) name.remove_suffix(std::string_view(":latest").size());
  for (Entry& entry : entries)
    if (std::ranges::find(entry.source.names, name) != entry.source.names.end()) return &entry;
  return nullptr;
}

// The model, counted as held until the last copy is released: it is not unloaded before. REQUIRES:
// the mutex is locked.
std::shared_ptr<const api::ServedModel> ModelPool::Impl::held(Entry& entry) {
  ++entry.holders;
  const auto release = [shared = shared, &entry](const auto*) {
    const std::lock_guard lock(shared->mutex);
    if (--entry.holders == 0) shared->changed.notify_all();
  };
  return {entry.served.get(), release};
}

std::int64_t ModelPool::Impl::used_by_engines() const {
  std::int64_t bytes = 0;
  for (const Entry& entry : entries) {
    if (!entry.has_engine()) continue;
    const MemoryUse use = entry.served->engine->memory();
    bytes +=
        use.total() - std::min(use.program, kProcessBytes);  // the next model counts the process
  }
  return bytes;
}

// With what the ledger has beyond that which the plans of the engines reserve for it.
std::int64_t ModelPool::Impl::used_bytes() const {
  const std::int64_t reserved = kRequestBytes * std::ranges::count_if(entries, &Entry::has_engine);
  return used_by_engines() + std::max<std::int64_t>(0, process_ledger().used() - reserved);
}

// The ledger may have what no plan has, and what plans reserve for it.
void ModelPool::Impl::set_ledger_limit() {
  const std::int64_t reserved = kRequestBytes * std::ranges::count_if(entries, &Entry::has_engine);
  process_ledger().set_limit(
      std::max(kRequestBytes, options.budget - kProcessBytes - used_by_engines() + reserved));
}

// Those of unloaded models. Returns false if there are none.
bool ModelPool::Impl::forget_texts() {
  bool had = false;
  for (Entry& entry : entries) had |= entry.forget_left();
  return had;
}

// The model that the oldest request waits for; null if none waits.
Entry* ModelPool::Impl::next_to_load() {
  Entry* next = nullptr;
  for (Entry& entry : entries) {
    if (options.refuse_until_loaded && entry.status == Status::loading) return &entry;
    // If its files changed, and it is still held, others need not wait for that.
    if (entry.waiting.empty() || (entry.is_loaded() && entry.holders > 0)) continue;
    if (!next || entry.waiting.front().ticket < next->waiting.front().ticket) next = &entry;
  }
  return next;
}

Entry* ModelPool::Impl::idle_longest(bool with_holders) {
  Entry* found = nullptr;
  for (Entry& entry : entries) {
    if (!entry.is_loaded() || (entry.holders > 0 && !with_holders)) continue;
    if (!found || entry.last_used < found->last_used) found = &entry;
  }
  return found;
}

// Unloads models until one more may be loaded: the one that has been idle longest, or, if all are
// busy, the one that was requested longest ago, once it is idle. `one_more`: at least one. Returns
// false if there is none to unload.
bool ModelPool::Impl::make_room(std::unique_lock<std::mutex>& lock, bool one_more) {
  const auto n_loaded = [this] { return std::ranges::count_if(entries, &Entry::is_loaded); };
  while (!stopping && (one_more || (options.max_loaded > 0 && n_loaded() >= options.max_loaded))) {
    Entry* victim = idle_longest(false);
    if (!victim) victim = idle_longest(true);
    if (!victim) return false;
    victim->status = Status::closing;  // new requests for it wait until it is loaded again
    shared->changed.wait(lock, [&] { return stopping || victim->holders == 0; });
    if (stopping) break;
    unload(lock, *victim);
    one_more = false;
  }
  return !stopping;
}

void ModelPool::Impl::unload(std::unique_lock<std::mutex>& lock, Entry& entry) {
  if (entry.has_engine()) retired += entry.served->engine->state().counters;
  std::shared_ptr<api::ServedModel> last = std::exchange(entry.served, nullptr);
  entry.status = Status::unloaded;
  ++unloads;
  lock.unlock();
  LeftTexts left = last->engine ? left_by(*last->engine) : LeftTexts();
  last.reset();
  lock.lock();
  set_ledger_limit();
  if (entry.left_memory.resize(left.bytes())) entry.left = std::move(left);
}

void ModelPool::Impl::load(std::unique_lock<std::mutex>& lock, Entry& entry) {
  entry.status = Status::loading;
  std::exception_ptr error;
  std::shared_ptr<api::ServedModel> served;
  for (bool again = true; again && !stopping;) {
    again = false;
    const LeftTexts left = entry.left;
    const std::int64_t used = used_bytes() - entry.left_memory.bytes();
    // Until it is loaded, requests get no more than the plan of the model leaves them.
    process_ledger().set_limit(std::max(kRequestBytes, process_ledger().used()));
    lock.unlock();
    try {
      error = nullptr;
      served = options.load(entry.source, used);
      if (served->engine) served->engine->take_texts(left).get();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    try {
      if (error) std::rethrow_exception(error);
    } catch (const BudgetError&) {
      again = forget_texts() || make_room(lock, true);
    } catch (...) {
    }
  }
  entry.served = std::move(served);
  entry.forget_left();
  set_ledger_limit();
  entry.file = describe_file(entry.source.path);
  entry.status = entry.served ? Status::loaded : Status::failed;
  if (entry.served) ++loads;
  answer(lock, entry, api::load_error(error));
  if (!options.loaded) return;
  lock.unlock();
  options.loaded(entry.source, error);
  lock.lock();
}

// Answers all that wait for the model.
void ModelPool::Impl::answer(std::unique_lock<std::mutex>& lock, Entry& entry,
                             const std::exception_ptr& error) {
  std::vector<std::pair<api::Models::Ready, std::shared_ptr<const api::ServedModel>>> answers;
  for (Waiting& waiting : std::exchange(entry.waiting, {})) {
    auto model = error ? nullptr : held(entry);
    entry.last_used = ++tickets;
    answers.emplace_back(std::move(waiting.ready), std::move(model));
  }
  lock.unlock();
  for (auto& [ready, model] : answers) ready(std::move(model), error);
  answers.clear();
  lock.lock();
}

void ModelPool::Impl::run() {
  // The threads of engines inherit the name: it distinguishes them from those that serve.
  pthread_setname_np(pthread_self(), "models");
  std::unique_lock lock(shared->mutex);
  while (!stopping) {
    Entry* next = next_to_load();
    if (!next) {
      shared->changed.wait(lock);
      continue;
    }
    if (next->is_loaded()) unload(lock, *next);  // its files changed
    if (make_room(lock, false)) load(lock, *next);
  }
}

ModelPool::ModelPool(PoolOptions options) {
  std::vector<std::string> names;
  for (const HostedModel& source : options.models)
    names.insert(names.end(), source.names.begin(), source.names.end());
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    fail<ValueError>("two models have the name '{}'", *twice);
  impl_ = std::make_unique<Impl>(std::move(options));
}

ModelPool::~ModelPool() = default;

void ModelPool::stop() {
  impl_->stop();
}

void ModelPool::find(std::string_view name, Ready ready) {
  std::unique_lock lock(impl_->shared->mutex);
  std::exception_ptr error;
  if (name.empty() && impl_->entries.size() > 1)
    error = std::make_exception_ptr(api::bad_request("model", "is required: the name of a model"));
  Entry* entry = error ? nullptr : impl_->find_entry(name);
  if (!entry && !error) error = std::make_exception_ptr(api::model_not_found(name));
  if (entry && entry->waiting.size() >= impl_->options.max_waiting)
    error = std::make_exception_ptr(QueueFullError("too many requests wait for the model"));
  if (entry && entry->status == Status::loading && impl_->options.refuse_until_loaded)
    error = std::make_exception_ptr(api::unavailable("the model is loading", "loading"));
  if (!error && impl_->stopping) error = shutting_down();
  if (!error && entry->status == Status::loaded && files_changed(*entry))
    entry->status = Status::closing;
  if (!error && entry->status != Status::loaded) {
    entry->waiting.push_back({++impl_->tickets, std::move(ready)});
    impl_->shared->changed.notify_all();
    return;
  }
  auto model = error ? nullptr : impl_->held(*entry);
  if (entry) entry->last_used = ++impl_->tickets;
  lock.unlock();
  ready(std::move(model), error);
}

void ModelPool::reload(std::string_view name) {
  const std::lock_guard lock(impl_->shared->mutex);
  Entry* entry = impl_->find_entry(name);
  if (!entry || entry->status != Status::loaded) return;
  entry->status = Status::closing;
  entry->waiting.push_back({++impl_->tickets, [](auto&&...) {}});
  impl_->shared->changed.notify_all();
}

std::vector<api::ListedModel> ModelPool::list() const {
  const std::lock_guard lock(impl_->shared->mutex);
  std::vector<api::ListedModel> listed;
  for (Entry& entry : impl_->entries) {
    api::ListedModel m;
    m.name = entry.source.names.front();
    m.aliases = entry.source.names;
    m.path = entry.source.path;
    m.status = name_of(entry.status);
    m.created = entry.file.modified;
    m.file_bytes = entry.file.bytes;
    if (entry.is_loaded()) m.loaded = impl_->held(entry);
    listed.push_back(std::move(m));
  }
  return listed;
}

ModelPool::State ModelPool::state() const {
  const std::lock_guard lock(impl_->shared->mutex);
  if (!impl_->options.refuse_until_loaded) return State::ready;
  State state = State::ready;
  for (const Entry& entry : impl_->entries) {
    if (entry.status == Status::loading || entry.status == Status::closing) return State::loading;
    if (entry.status == Status::failed) state = State::failed;
  }
  return state;
}

bool ModelPool::wait_released(Clock::time_point until) {
  std::unique_lock lock(impl_->shared->mutex);
  return impl_->shared->changed.wait_until(lock, until, [this] {
    return std::ranges::all_of(impl_->entries, [](const Entry& e) { return e.holders == 0; });
  });
}

std::vector<PooledModel> ModelPool::loaded() const {
  std::vector<PooledModel> models;
  const std::lock_guard lock(impl_->shared->mutex);
  for (Entry& entry : impl_->entries)
    if (entry.is_loaded()) models.push_back({entry.source.names.front(), impl_->held(entry)});
  return models;
}

PoolCounters ModelPool::counters() const {
  const std::lock_guard lock(impl_->shared->mutex);
  PoolCounters sum{.engines = impl_->retired, .loads = impl_->loads, .unloads = impl_->unloads};
  for (const Entry& entry : impl_->entries) {
    if (!entry.has_engine()) continue;
    const EngineState state = entry.served->engine->state();
    sum.engines += state.counters;
    sum.memory += entry.served->engine->memory();
    sum.allocated_bytes += state.allocated_bytes;
    sum.n_running += state.n_running;
    sum.n_waiting += state.n_waiting;
    sum.n_slots += entry.served->engine->n_slots();
    sum.held_texts += state.held_texts;
    sum.held_tokens += state.held_tokens;
    sum.held_bytes += state.held_bytes;
    sum.memory_level = std::max(sum.memory_level, state.memory_level);
    sum.snapshot_files += state.snapshot_files;
    sum.snapshot_bytes += state.snapshot_bytes;
  }
  return sum;
}

}  // namespace weft::server
