#include "weft/hosting/server_metrics.h"

#include <algorithm>

#include "weft/base/clock.h"

namespace weft::server {
namespace {

// Passes everything on. Called by one thread.
class MeasuredListener : public TextListener {
 public:
  MeasuredListener(std::shared_ptr<TextListener> next, ServerMetrics& metrics, int n_texts)
      : next_(std::move(next)), metrics_(metrics), last_(static_cast<std::size_t>(n_texts)) {}

  void on_prompt_progress(std::int64_t done, std::int64_t total) override {
    next_->on_prompt_progress(done, total);
  }
  void on_prompt(const PromptDone& prompt) override {
    metrics_.queue_time.add(prompt.seconds_waiting);
    next_->on_prompt(prompt);
  }
  void on_token(std::int32_t text, const GenerationEvent& event) override {
    seen(text);
    next_->on_token(text, event);
  }
  void on_end(std::int32_t text, const GenerationEvent& event, const TextEnd& end) override {
    next_->on_end(text, event, end);
  }
  void on_error(std::exception_ptr error) override { next_->on_error(std::move(error)); }

 private:
  void seen(std::int32_t text) {
    const Clock::time_point now = Clock::now();
    Clock::time_point& last = last_[static_cast<std::size_t>(text)];
    const auto since = [&](Clock::time_point t) {
      return std::chrono::duration<double>(now - t).count();
    };
    if (last == Clock::time_point{})
      metrics_.time_to_first_token.add(since(start_));
    else
      metrics_.time_between_tokens.add(since(last));
    last = now;
  }

  std::shared_ptr<TextListener> next_;
  ServerMetrics& metrics_;
  Clock::time_point start_ = Clock::now();
  std::vector<Clock::time_point> last_;  // by text
};

class MeasuredTexts : public api::TextSource {
 public:
  MeasuredTexts(std::shared_ptr<api::TextSource> source, ServerMetrics& metrics)
      : source_(std::move(source)), metrics_(metrics) {}

  RequestId submit(TextRequest request, std::shared_ptr<TextListener> listener) override {
    auto measured =
        std::make_shared<MeasuredListener>(std::move(listener), metrics_, request.texts);
    return source_->submit(std::move(request), std::move(measured));
  }
  void cancel(RequestId id) override { source_->cancel(id); }
  void prepare(TextRequest request) override { source_->prepare(std::move(request)); }
  std::future<std::vector<Embedding>> embed(std::vector<TypedTokens> texts,
                                            const EmbedderOptions& options,
                                            std::shared_ptr<std::atomic<bool>> cancel) override {
    return source_->embed(std::move(texts), options, std::move(cancel));
  }
  std::int64_t context() const override { return source_->context(); }
  std::int32_t n_slots() const override { return source_->n_slots(); }

 private:
  std::shared_ptr<api::TextSource> source_;
  ServerMetrics& metrics_;
};

}  // namespace

void ServerMetrics::count_request(const std::string& path, int status) {
  const std::pair<std::string, int> key{path, status};
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find(requests_, key, [](const auto& entry) { return entry.first; });
  if (found == requests_.end())
    requests_.emplace_back(key, 1);
  else
    ++found->second;
}

std::vector<std::pair<std::pair<std::string, int>, std::uint64_t>> ServerMetrics::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::shared_ptr<api::TextSource> measured(std::shared_ptr<api::TextSource> source,
                                          ServerMetrics& metrics) {
  return std::make_shared<MeasuredTexts>(std::move(source), metrics);
}

}  // namespace weft::server
