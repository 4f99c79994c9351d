#pragma once
// For tests of engines: a listener that collects, and what a text is alone.

#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

#include "weft/serve/engine.h"

#include "generation/generation_test_support.h"
#include "support/tiny_model.h"

namespace weft::test {

inline constexpr int kTinyVocabulary = 50;  // size of tiny_model()'s vocabulary

class Collector : public TextListener {
 public:
  explicit Collector(std::int32_t n_texts = 1) : n_texts_(n_texts) {}

  void on_prompt_progress(std::int64_t done, std::int64_t total) override {
    const std::lock_guard lock(mutex_);
    progress_.emplace_back(done, total);
  }
  void on_prompt(const PromptDone& prompt) override {
    const std::lock_guard lock(mutex_);
    prompts_.push_back(prompt);
    changed_.notify_all();
  }
  void on_token(std::int32_t text, const GenerationEvent& event) override {
    const std::lock_guard lock(mutex_);
    add(event, texts_[text]);
    if (event.logprobs) logprobs_[text].push_back(*event.logprobs);
    changed_.notify_all();
  }
  void on_end(std::int32_t text, const GenerationEvent& event, const TextEnd& end) override {
    const std::lock_guard lock(mutex_);
    add(event, texts_[text]);
    ends_[text] = end;
    changed_.notify_all();
  }
  void on_error(std::exception_ptr error) override {
    const std::lock_guard lock(mutex_);
    error_ = error;
    changed_.notify_all();
  }

  // Until the request has ended.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return error_ || std::ssize(ends_) == n_texts_; });
  }
  void wait_for_tokens(std::size_t n, std::int32_t text = 0) {
    std::unique_lock lock(mutex_);
    changed_.wait(
        lock, [&] { return error_ || texts_[text].tokens.size() >= n || ends_.contains(text); });
  }
  void wait_for_prompt() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return error_ || !prompts_.empty() || !ends_.empty(); });
  }
  // REQUIRES: it has ended.
  const Written& text(std::int32_t i) { return texts_[i]; }
  const TextEnd& end(std::int32_t i) { return ends_[i]; }
  const std::vector<PromptDone>& prompts() const { return prompts_; }
  const std::vector<std::pair<std::int64_t, std::int64_t>>& progress() const { return progress_; }
  const std::vector<TokenLogprobs>& logprobs(std::int32_t i) { return logprobs_[i]; }
  std::exception_ptr error() const { return error_; }

 private:
  const std::int32_t n_texts_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<std::int64_t, std::int64_t>> progress_;
  std::vector<PromptDone> prompts_;
  std::map<std::int32_t, Written> texts_;
  std::map<std::int32_t, std::vector<TokenLogprobs>> logprobs_;
  std::map<std::int32_t, TextEnd> ends_;
  std::exception_ptr error_;
};

inline std::vector<std::shared_ptr<Collector>> collectors(std::size_t n) {
  std::vector<std::shared_ptr<Collector>> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back(std::make_shared<Collector>());
  return all;
}

// Prompts and requests for tiny_model(), which differ by i.
inline std::vector<TokenId> made_prompt(int i, int n) {
  std::vector<TokenId> ids;
  for (int t = 0; t < n; ++t) ids.push_back((7 * i + t * t) % kTinyVocabulary);
  return ids;
}
inline TextRequest made_request(int i, int n_prompt, int max_tokens) {
  TextRequest request{.prompt = made_prompt(i, n_prompt)};
  request.generation.max_tokens = max_tokens;
  request.generation.sampler.seed = static_cast<std::uint64_t>(i);
  return request;
}

// Runs a request until it ends.
inline std::shared_ptr<Collector> run(Engine& engine, const TextRequest& request) {
  const auto listener = std::make_shared<Collector>(request.texts);
  engine.submit(request, listener);
  listener->wait();
  return listener;
}

// Text i of the request in a session of its own.
inline Written written_alone(const std::shared_ptr<const Model>& model, const TextRequest& request,
                             std::int32_t i = 0, std::int64_t context = 4000) {
  Session session(model, {.context = context});
  GenerationOptions options = request.generation;
  options.sampler.seed += static_cast<std::uint64_t>(i);
  return write(session, options, request.prompt);
}

}  // namespace weft::test
