#include "weft/hosting/watch_ranks.h"

#include <atomic>
#include <limits>
#include <optional>
#include <utility>

#include "weft/backends/device.h"
#include "weft/scheduler/communicator.h"

namespace weft::server {
namespace {

// A step that fails while it waits for a rank throws KernelError, as it does for other reasons.
struct RankTrouble {
  bool certain = false;
  std::string why;
};

std::optional<RankTrouble> trouble_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const RankError& e) {
    return RankTrouble{true, e.what()};
  } catch (const KernelError& e) {
    return RankTrouble{false, e.what()};
  } catch (...) {
    return std::nullopt;
  }
}

class WatchedRanks : public api::TextSource, public std::enable_shared_from_this<WatchedRanks> {
 public:
  WatchedRanks(std::shared_ptr<api::TextSource> source,
               std::function<void(const std::string&)> lost)
      : source_(std::move(source)), lost_(std::move(lost)) {}

  RequestId submit(TextRequest request, std::shared_ptr<TextListener> listener) override;
  void cancel(RequestId id) override { source_->cancel(id); }
  std::future<std::vector<Embedding>> embed(std::vector<TypedTokens> texts,
                                            const EmbedderOptions& options,
                                            std::shared_ptr<std::atomic<bool>> cancel) override;
  std::int64_t context() const override { return source_->context(); }
  std::int32_t n_slots() const override { return source_->n_slots(); }

 private:
  class Listener;
  class Probe;

  void on_text_error(const std::exception_ptr& error);
  void on_embedding_error(const std::exception_ptr& error, const EmbedderOptions& options);
  void probe_with_text(const std::string& why);
  void report(const std::string& why) {
    if (!reported_.exchange(true)) lost_(why);
  }

  const std::shared_ptr<api::TextSource> source_;
  const std::function<void(const std::string&)> lost_;
  std::atomic<bool> reported_{false}, probing_{false};
};

class WatchedRanks::Listener : public TextListener {
 public:
  Listener(std::shared_ptr<TextListener> next, std::weak_ptr<WatchedRanks> watch)
      : next_(std::move(next)), watch_(std::move(watch)) {}
  void on_prompt_progress(std::int64_t done, std::int64_t total) override {
    next_->on_prompt_progress(done, total);
  }
  void on_prompt(const PromptDone& prompt) override { next_->on_prompt(prompt); }
  void on_token(std::int32_t text, const GenerationEvent& event) override {
    next_->on_token(text, event);
  }
  void on_end(std::int32_t text, const GenerationEvent& event, const TextEnd& end) override {
    next_->on_end(text, event, end);
  }
  void on_error(std::exception_ptr error) override {
    if (const auto watch = watch_.lock()) watch->on_text_error(error);
    next_->on_error(std::move(error));
  }

 private:
  const std::shared_ptr<TextListener> next_;
  const std::weak_ptr<WatchedRanks> watch_;
};

// One token. If it fails, too, a rank is lost.
class WatchedRanks::Probe : public TextListener {
 public:
  Probe(std::weak_ptr<WatchedRanks> watch, std::string why)
      : watch_(std::move(watch)), why_(std::move(why)) {}
  void on_prompt_progress(std::int64_t, std::int64_t) override {}
  void on_prompt(const PromptDone&) override {}
  void on_token(std::int32_t, const GenerationEvent&) override {}
  void on_end(std::int32_t, const GenerationEvent&, const TextEnd&) override {
    if (const auto watch = watch_.lock()) watch->probing_ = false;
  }
  void on_error(std::exception_ptr error) override {
    const auto watch = watch_.lock();
    if (!watch) return;
    if (trouble_of(error)) watch->report(why_);
    watch->probing_ = false;
  }

 private:
  const std::weak_ptr<WatchedRanks> watch_;
  const std::string why_;
};

RequestId WatchedRanks::submit(TextRequest request, std::shared_ptr<TextListener> listener) {
  return source_->submit(std::move(request),
                         std::make_shared<Listener>(std::move(listener), weak_from_this()));
}

// The result is needed here, too, and waiting for it takes a thread.
std::future<std::vector<Embedding>> WatchedRanks::embed(std::vector<TypedTokens> texts,
                                                        const EmbedderOptions& options,
                                                        std::shared_ptr<std::atomic<bool>> cancel) {
  auto result = source_->embed(std::move(texts), options, std::move(cancel));
  return std::async(std::launch::async,
                    [self = shared_from_this(), options, result = std::move(result)]() mutable {
                      try {
                        return result.get();
                      } catch (...) {
                        self->on_embedding_error(std::current_exception(), options);
                        throw;
                      }
                    });
}

void WatchedRanks::on_text_error(const std::exception_ptr& error) {
  const auto trouble = trouble_of(error);
  if (!trouble) return;
  if (trouble->certain) return report(trouble->why);
  if (!probing_.exchange(true)) probe_with_text(trouble->why);
}

void WatchedRanks::probe_with_text(const std::string& why) {
  try {
    TextRequest request{.prompt = {0}};
    request.generation.max_tokens = 1;
    request.reuse = false;
    request.priority = std::numeric_limits<int>::max();
    source_->submit(std::move(request), std::make_shared<Probe>(weak_from_this(), why));
  } catch (const std::exception&) {
    probing_ = false;  // the queue is full: the next error asks again
  }
}

void WatchedRanks::on_embedding_error(const std::exception_ptr& error,
                                      const EmbedderOptions& options) {
  const auto trouble = trouble_of(error);
  if (!trouble) return;
  if (trouble->certain) return report(trouble->why);
  try {
    TypedTokens token;
    token.ids = {0};
    source_->embed({std::move(token)}, options, {}).get();
  } catch (...) {
    if (trouble_of(std::current_exception())) report(trouble->why);
  }
}

}  // namespace

std::shared_ptr<api::TextSource> watch_ranks(std::shared_ptr<api::TextSource> source,
                                             std::function<void(const std::string& why)> lost) {
  return std::make_shared<WatchedRanks>(std::move(source), std::move(lost));
}

}  // namespace weft::server
