#pragma once
// The services for endpoints: the models that are served, and the preparing threads.

#include <atomic>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "weft/chat/chat_turn.h"
#include "weft/http/exchange.h"
#include "weft/serve/engine.h"

namespace weft::api {

class Workers;

// Where texts come from: an Engine, or a substitute in tests. Functions are those of Engine.
class TextSource {
 public:
  virtual ~TextSource() = default;
  virtual RequestId submit(TextRequest request, std::shared_ptr<TextListener> listener) = 0;
  virtual void cancel(RequestId id) = 0;
  virtual void prepare(TextRequest request) = 0;
  virtual std::future<std::vector<Embedding>> embed(std::vector<TypedTokens> texts,
                                                    const EmbedderOptions& options,
                                                    std::shared_ptr<std::atomic<bool>> cancel) = 0;
  virtual std::int64_t context() const = 0;  // tokens that one text may have
  virtual std::int32_t n_slots() const = 0;
};
std::shared_ptr<TextSource> texts_of(std::shared_ptr<Engine> engine);

// Where the model's thoughts go in answers. Names are llama-server's.
enum class ReasoningFormat { automatic, apart, none };
inline constexpr std::string_view kReasoningDoc =
    "Place of the model's thoughts: deepseek puts them into reasoning_content, none leaves them in "
    "the content, auto does as the model's template marks them.";
std::vector<std::string> reasoning_names();  // "auto", "deepseek", "none"
// Throws UnsupportedError for another name.
ReasoningFormat reasoning_format(std::string_view name);

// ranking_output() of a model, found once, because that decodes the weights of the classifier.
// Threads: get() may be called from any thread.
class RankingOutput {
 public:
  // Throws like ranking_output(). REQUIRES: the same model in all calls.
  std::size_t get(const Model& model) const;

 private:
  mutable std::once_flag once_;
  mutable std::size_t output_ = 0;
  mutable std::exception_ptr error_;
};

// A loaded model. Immutable once it is served, except for the engine's own state.
struct ServedModel {
  std::string name;                  // the first alias: answers carry it
  std::vector<std::string> aliases;  // all, with `name`
  std::shared_ptr<const Model> model;
  std::shared_ptr<Engine> engine;         // for slots and counters; null in tests
  std::shared_ptr<TextSource> texts;      // runs texts in the engine
  std::shared_ptr<const TokenTree> tree;  // the model's vocabulary; null if it has no tokenizer
  ChatFormat chat;                        // without a template: no chats
  std::string template_kwargs;            // JSON object; empty: none
  ReasoningFormat reasoning = ReasoningFormat::automatic;
  // Defaults of requests, from flags.
  SamplerOptions sampler;
  std::vector<std::string> dry_breakers = {"\n", ":", "\"", "*"};  // texts, for requests with DRY
  bool random_seed = true;  // draw a seed for requests without one; else sampler.seed
  std::int64_t max_tokens = -1;
  bool reuse = true;              // cache_prompt
  TextRequest::Moved moved = {};  // n_cache_reuse
  ContextEndOptions context_end = {};
  bool prepares = false;     // the next turn of a chat is computed while nobody waits
  EmbedderOptions embedder;  // pooling and limits
  RankingOutput ranking;     // for rerankers
  std::int64_t created = 0;  // seconds since 1970
};

// With an engine of this model, and defaults for requests. `chat`: of the model's tokenizer;
// without a template, chats are refused.
std::shared_ptr<ServedModel> served_model(std::string name, std::shared_ptr<const Model> model,
                                          std::shared_ptr<Engine> engine, ChatFormat chat = {});

struct ListedModel {
  std::string name;
  std::vector<std::string> aliases;
  std::string path;
  std::string status;  // "loaded", "unloaded", "loading", "failed"
  std::int64_t created = 0;
  std::int64_t file_bytes = 0;
  std::shared_ptr<const ServedModel> loaded;  // null unless loaded
};

// The models by name. Threads: all functions may be called from any thread.
class Models {
 public:
  virtual ~Models() = default;
  // Calls `ready` once, at once or when the model has been loaded, on any thread: with the model,
  // or with the error (model_not_found() for an unknown name). Must not block. An empty name means
  // the only model; several: an ApiError 400 for the field "model". A server of one model answers
  // any name.
  using Ready =
      std::function<void(std::shared_ptr<const ServedModel> model, std::exception_ptr error)>;
  virtual void find(std::string_view name, Ready ready) = 0;
  virtual std::vector<ListedModel> list() const = 0;
};
// One loaded model.
std::unique_ptr<Models> one_model(std::shared_ptr<const ServedModel> model);

struct RunTotals;

struct ApiOptions {
  // Called when the texts of a request are complete or have failed, before the end of the answer;
  // on a preparing thread. May be empty.
  std::function<void(const http::Request& request, const ServedModel& model,
                     const RunTotals& totals)>
      on_texts = {};
  // Returns the watcher for the steps of a request's texts, or null if they are not watched. Called
  // on a preparing thread. Empty: no request is watched.
  std::function<std::shared_ptr<StepWatcher>(const http::Request& request)> watcher_of = {};
  // Returns whose texts a request may see and makes (TextRequest::owner), without line ends. Called
  // on the I/O thread or on a preparing thread. Empty: all requests have one owner.
  std::function<std::string(const http::Request& request)> owner_of = {};
  // Returns whose turn a request takes among those that wait to be prepared. Called on the
  // I/O thread. Empty: that of its peer.
  std::function<std::string(const http::Request& request)> client_of = {};
  // Called on a preparing thread, possibly often with the same notice: the receiver logs it once.
  // May be empty.
  std::function<void(std::string_view notice)> on_notice = {};
  // Called with the text around the place where a prompt differs from the held text that is most
  // like it, of both; on a preparing thread. Empty: nobody wants to know.
  std::function<void(const http::Request& request, std::string_view difference)> on_difference = {};
  double sse_ping_seconds = 15;  // silence after which a stream gets a comment; below 0: never
  std::string version = "0";     // the server's
};

// Outlives all requests.
struct Services {
  Models& models;
  Workers& workers;
  ApiOptions options = {};
};

// "chatcmpl-4f1a..": a prefix and random characters, which cannot be guessed.
std::string new_id(std::string_view prefix, int n_random = 24);
std::int64_t unix_seconds();
std::string utc_time(std::int64_t unix_seconds);  // RFC 3339: "2026-01-31T23:59:59Z"

}  // namespace weft::api
