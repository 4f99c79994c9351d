#include "weft/api/context.h"

#include <chrono>
#include <ctime>
#include <utility>

#include <fmt/ranges.h>

#include "weft/api/errors.h"
#include "weft/base/error.h"
#include "weft/base/random_id.h"
#include "weft/grammar/token_constraint.h"

namespace weft::api {
namespace {

constexpr std::pair<std::string_view, ReasoningFormat> kReasoningFormats[] = {
    {"auto", ReasoningFormat::automatic},
    {"deepseek", ReasoningFormat::apart},
    {"none", ReasoningFormat::none}};

class EngineTexts : public TextSource {
 public:
  explicit EngineTexts(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}
  RequestId submit(TextRequest request, std::shared_ptr<TextListener> listener) override {
    return engine_->submit(std::move(request), std::move(listener));
  }
  void cancel(RequestId id) override { engine_->cancel(id); }
  void prepare(TextRequest request) override { engine_->prepare(std::move(request)); }
  std::future<std::vector<Embedding>> embed(std::vector<TypedTokens> texts,
                                            const EmbedderOptions& options,
                                            std::shared_ptr<std::atomic<bool>> cancel) override {
    return engine_->embed(std::move(texts), options, std::move(cancel));
  }
  std::int64_t context() const override { return engine_->context(); }
  std::int32_t n_slots() const override { return engine_->n_slots(); }

 private:
  std::shared_ptr<Engine> engine_;
};

class OneModel : public Models {
 public:
  explicit OneModel(std::shared_ptr<const ServedModel> model) : model_(std::move(model)) {}
  void find(std::string_view, Ready ready) override { ready(model_, nullptr); }
  std::vector<ListedModel> list() const override {
    const std::string path = model_->model ? model_->model->file().path() : "";
    return {{model_->name, model_->aliases, path, "loaded", model_->created, 0, model_}};
  }

 private:
  std::shared_ptr<const ServedModel> model_;
};

}  // namespace

std::shared_ptr<ServedModel> served_model(std::string name, std::shared_ptr<const Model> model,
                                          std::shared_ptr<Engine> engine, ChatFormat chat) {
  auto served = std::make_shared<ServedModel>();
  served->name = std::move(name);
  served->aliases = {served->name};
  served->created = unix_seconds();
  if (model->has_tokenizer()) served->tree = std::make_shared<const TokenTree>(model->tokenizer());
  served->chat = std::move(chat);
  served->embedder.max_tokens = engine->context();
  served->texts = texts_of(engine);
  served->engine = std::move(engine);
  served->model = std::move(model);
  return served;
}

std::vector<std::string> reasoning_names() {
  std::vector<std::string> names;
  for (const auto& [name, format] : kReasoningFormats) names.emplace_back(name);
  return names;
}

ReasoningFormat reasoning_format(std::string_view name) {
  for (const auto& [known, format] : kReasoningFormats)
    if (name == known) return format;
  fail<UnsupportedError>("unknown format of reasoning '{}' (known: {})", name,
                         fmt::join(reasoning_names(), ", "));
}

std::shared_ptr<TextSource> texts_of(std::shared_ptr<Engine> engine) {
  return std::make_shared<EngineTexts>(std::move(engine));
}

std::unique_ptr<Models> one_model(std::shared_ptr<const ServedModel> model) {
  return std::make_unique<OneModel>(std::move(model));
}

std::string new_id(std::string_view prefix, int n_random) {
  return random_id(prefix, n_random);
}

std::int64_t unix_seconds() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

std::size_t RankingOutput::get(const Model& model) const {
  std::call_once(once_, [&] {
    try {
      output_ = ranking_output(model);
    } catch (const Error&) {
      error_ = std::current_exception();
    }
  });
  if (error_) std::rethrow_exception(error_);
  return output_;
}

std::string utc_time(std::int64_t unix_seconds) {
  const std::time_t seconds = unix_seconds;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace weft::api
