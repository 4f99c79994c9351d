#include "weft/hosting/watch_ranks.h"

#include <atomic>
#include <exception>
#include <utility>

#include "weft/scheduler/communicator.h"

namespace weft::server {
namespace {

class WatchedRanks : public api::TextSource, public std::enable_shared_from_this<WatchedRanks> {
 public:
  WatchedRanks(std::shared_ptr<api::TextSource> source,
               std::function<void(const std::string&)> lost)
      : source_(std::move(source)), lost_(std::move(lost)) {}

  RequestId submit(TextRequest request, std::shared_ptr<TextListener> listener) override;
  void cancel(RequestId id) override { source_->cancel(id); }
  void prepare(TextRequest request) override { source_->prepare(std::move(request)); }
  std::future<std::vector<Embedding>> embed(std::vector<TypedTokens> texts,
                                            const EmbedderOptions& options,
                                            std::shared_ptr<std::atomic<bool>> cancel) override;
  std::int64_t context() const override { return source_->context(); }
  std::int32_t n_slots() const override { return source_->n_slots(); }

 private:
  class Listener;

  void on_error(const std::exception_ptr& error);

  const std::shared_ptr<api::TextSource> source_;
  const std::function<void(const std::string&)> lost_;
  std::atomic<bool> reported_{false};
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
    if (const auto watch = watch_.lock()) watch->on_error(error);
    next_->on_error(std::move(error));
  }

 private:
  const std::shared_ptr<TextListener> next_;
  const std::weak_ptr<WatchedRanks> watch_;
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
                    [self = shared_from_this(), result = std::move(result)]() mutable {
                      try {
                        return result.get();
                      } catch (...) {
                        self->on_error(std::current_exception());
                        throw;
                      }
                    });
}

void WatchedRanks::on_error(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const RankError& e) {
    if (!reported_.exchange(true)) lost_(e.what());
  } catch (...) {
    return;  // all ranks are there
  }
}

}  // namespace

std::shared_ptr<api::TextSource> watch_ranks(std::shared_ptr<api::TextSource> source,
                                             std::function<void(const std::string& why)> lost) {
  return std::make_shared<WatchedRanks>(std::move(source), std::move(lost));
}

}  // namespace weft::server
