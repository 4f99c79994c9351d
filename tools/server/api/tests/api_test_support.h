#pragma once
// For tests of the interfaces: exchanges without a network, and texts without an engine.

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "weft/api/endpoints.h"
#include "weft/api/workers.h"
#include "weft/openai/endpoints.h"
#include "weft/run/model.h"

#include "support/waiting.h"

namespace weft::api::test {

// Records the answer.
class FakeExchange : public http::Exchange {
 public:
  explicit FakeExchange(http::Request request) : request_(std::move(request)) {}

  const http::Request& request() const override { return request_; }
  void reply(http::Reply reply) override {
    set([&] { answer = std::move(reply), done = true; });
  }
  void begin(http::Reply begin) override {
    set([&] { answer = std::move(begin), streamed = true; });
  }
  void write(std::string piece) override {
    set([&] { answer.body += piece; });
  }
  void end() override {
    set([&] { done = true; });
  }
  std::size_t unsent() const override { return n_unsent; }
  void on_client_left(std::function<void()> left) override { left_ = std::move(left); }

  void leave() { left_(); }
  http::Reply& wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [this] { return done; });
    return answer;
  }

  // The answer so far.
  std::string text() {
    const std::lock_guard lock(mutex_);
    return answer.body;
  }

  http::Reply answer;
  bool done = false, streamed = false;
  std::size_t n_unsent = 0;

 private:
  template <class F>
  void set(const F& f) {
    {
      const std::lock_guard lock(mutex_);
      f();
    }
    changed_.notify_all();
  }

  const http::Request request_;
  std::function<void()> left_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

// Each request gets the next of these texts, in pieces of a few bytes in place of tokens.
class FakeTexts : public TextSource {
 public:
  std::vector<std::string> texts;
  std::int64_t n_dropped = 0;  // TextEnd's
  std::size_t piece_bytes = 3;
  StopReason stop = StopReason::end_of_text;
  std::vector<TextRequest> requests;  // those received so far
  std::vector<TextRequest> prepared;  // those of prepare()
  bool silent = false;                // requests get no events
  std::exception_ptr fails;           // the exception of submit()

  RequestId submit(TextRequest request, std::shared_ptr<TextListener> listener) override {
    if (fails) std::rethrow_exception(fails);
    requests.push_back(request);
    const RequestId id = requests.size();
    if (silent) {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(listener));
      return id;
    }
    PromptDone prompt{};
    prompt.n_prompt = std::ssize(request.prompt);
    listener->on_prompt(prompt);
    for (std::int32_t i = 0; i < request.texts; ++i) play(i, *listener);
    return id;
  }
  void prepare(TextRequest request) override { prepared.push_back(std::move(request)); }
  void cancel(RequestId id) override {
    const std::lock_guard lock(mutex_);
    cancelled_.push_back(id);
  }
  // Requests that were cancelled: waits for one, for a few seconds.
  std::vector<RequestId> cancelled() { return when_any(cancelled_); }
  // Listeners of requests that get no events: waits for one, for a few seconds.
  std::vector<std::shared_ptr<TextListener>> waiting() { return when_any(waiting_); }
  void drop_waiting() {
    std::vector<std::shared_ptr<TextListener>> dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(waiting_);
  }
  std::future<std::vector<Embedding>> embed(std::vector<TypedTokens> of, const EmbedderOptions&,
                                            std::shared_ptr<std::atomic<bool>> cancel) override {
    embed_cancel = std::move(cancel);
    std::promise<std::vector<Embedding>> promise;
    std::vector<Embedding> all;
    for (const auto& text : of)
      all.push_back({{0.6F, 0.8F, 0.0F}, static_cast<std::int64_t>(text.ids.size())});
    promise.set_value(std::move(all));
    return promise.get_future();
  }
  std::int64_t context() const override { return 512; }
  std::int32_t n_slots() const override { return 2; }

  std::shared_ptr<std::atomic<bool>> embed_cancel;  // from the last call of embed()

 private:
  // A copy of `items` when there is one; empty if none comes.
  template <class T>
  std::vector<T> when_any(const std::vector<T>& items) {
    std::vector<T> found;
    weft::test::eventually([&] {
      const std::lock_guard lock(mutex_);
      found = items;
      return !found.empty();
    });
    return found;
  }

  void play(std::int32_t text, TextListener& listener) {
    const std::string& whole = texts[next_++ % texts.size()];
    std::int64_t n = 0;
    for (std::size_t at = 0; at < whole.size(); ++n) {
      std::size_t end = std::min(at + piece_bytes, whole.size());
      while (end < whole.size() && (whole[end] & 0xC0) == 0x80) ++end;  // whole characters
      const std::string piece = whole.substr(at, end - at);
      at = end;
      listener.on_token(text, {.token = 300, .text = piece});
    }
    listener.on_end(
        text, {.stop = stop},
        {.reason = stop, .stop_string = "", .n_new = n, .seconds = 0.1, .n_dropped = n_dropped});
  }

  std::size_t next_ = 0;
  std::mutex mutex_;
  std::vector<RequestId> cancelled_;
  std::vector<std::shared_ptr<TextListener>> waiting_;
};

// The bundled model's vocabulary and template, with fake texts, behind the endpoints of OpenAI.
struct FakeServer {
  explicit FakeServer(const std::string& chat_template = {}) {
    served->name = "stories";
    served->aliases = {"stories"};
    served->model = Model::load(WEFT_BUNDLED_MODELS "/weft-stories.gguf");
    model = served->model;
    served->texts = texts;
    served->tree = std::make_shared<const TokenTree>(served->model->tokenizer());
    served->chat = chat_format(
        served->model->tokenizer(),
        make_chat_template(chat_template.empty() ? served->model->vocabulary().chat_template()
                                                 : chat_template));
    models = one_model(served);
    services = std::make_unique<Services>(Services{*models, workers, {}});
    router = std::make_unique<Router>(openai_endpoints(), *services);
  }
  // Listeners of requests without an answer refer to the model, which refers to the texts.
  ~FakeServer() { texts->drop_waiting(); }

  std::shared_ptr<FakeExchange> send(std::string method, const std::string& path,
                                     std::string body = "", http::Headers headers = {}) {
    http::Request request;
    request.method = std::move(method);
    request.path = path.substr(0, path.find('?'));
    if (request.path.size() < path.size()) request.query = path.substr(request.path.size() + 1);
    request.headers = std::move(headers);
    request.body = std::move(body);
    auto exchange = std::make_shared<FakeExchange>(std::move(request));
    router->handle(exchange);
    return exchange;
  }
  http::Reply post(const std::string& path, std::string body) {
    return send("POST", path, std::move(body))->wait();
  }

  // The prompt of the latest request, with control tokens.
  std::string prompt() const {
    return model->tokenizer().decode(texts->requests.back().prompt,
                                     DecodeOptions{.show_special = true});
  }

  std::shared_ptr<const Model> model;
  std::shared_ptr<FakeTexts> texts = std::make_shared<FakeTexts>();
  std::shared_ptr<ServedModel> served = std::make_shared<ServedModel>();
  std::unique_ptr<Models> models;
  std::unique_ptr<Services> services;
  std::unique_ptr<Router> router;
  Workers workers;  // last, so that its threads end before the objects that they use
};

}  // namespace weft::api::test
