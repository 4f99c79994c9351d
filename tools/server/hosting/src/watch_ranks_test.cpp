#include "weft/hosting/watch_ranks.h"

#include <deque>
#include <exception>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "weft/backends/device.h"
#include "weft/base/error.h"
#include "weft/scheduler/communicator.h"

namespace weft::server {
namespace {

template <class E, class... Args>
std::exception_ptr made(Args&&... args) {
  return std::make_exception_ptr(E(std::forward<Args>(args)...));
}

// Fails with these errors, in order. A null one: the text ends as it should.
struct FailingTexts : api::TextSource {
  std::deque<std::exception_ptr> errors;

  std::exception_ptr next() {
    auto error = errors.empty() ? nullptr : errors.front();
    if (!errors.empty()) errors.pop_front();
    return error;
  }
  RequestId submit(TextRequest, std::shared_ptr<TextListener> listener) override {
    if (auto error = next())
      listener->on_error(std::move(error));
    else
      listener->on_end(0, {}, {});
    return 1;
  }
  void cancel(RequestId) override {}
  void prepare(TextRequest) override {}
  std::future<std::vector<Embedding>> embed(std::vector<TypedTokens>, const EmbedderOptions&,
                                            std::shared_ptr<std::atomic<bool>>) override {
    std::promise<std::vector<Embedding>> result;
    if (auto error = next())
      result.set_exception(std::move(error));
    else
      result.set_value({});
    return result.get_future();
  }
  std::int64_t context() const override { return 1; }
  std::int32_t n_slots() const override { return 1; }
};

struct QuietListener : TextListener {
  int n_errors = 0;
  void on_prompt_progress(std::int64_t, std::int64_t) override {}
  void on_prompt(const PromptDone&) override {}
  void on_token(std::int32_t, const GenerationEvent&) override {}
  void on_end(std::int32_t, const GenerationEvent&, const TextEnd&) override {}
  void on_error(std::exception_ptr) override { ++n_errors; }
};

struct Watched {
  explicit Watched(std::deque<std::exception_ptr> errors) { source->errors = std::move(errors); }

  void text() { watched->submit({.prompt = {1}}, listener); }
  void embed() {
    try {
      watched->embed({TypedTokens(std::vector<TokenId>{1})}, {}, {}).get();
    } catch (const Error&) {
      ++listener->n_errors;
    }
  }

  std::shared_ptr<FailingTexts> source = std::make_shared<FailingTexts>();
  std::shared_ptr<QuietListener> listener = std::make_shared<QuietListener>();
  std::vector<std::string> reasons;
  std::shared_ptr<api::TextSource> watched =
      watch_ranks(source, [this](const std::string& why) { reasons.push_back(why); });
};

const std::vector<std::string> kLost{"rank 1 is lost: out of memory"};

TEST_CASE("a lost rank is reported once") {
  Watched w({made<RankError>(1, kLost[0]), made<RankError>(1, "again")});
  w.text();
  w.text();
  CHECK(w.reasons == kLost);
  CHECK(w.listener->n_errors == 2);
  Watched e({made<RankError>(1, kLost[0])});
  e.embed();
  CHECK(e.reasons == kLost);
}

TEST_CASE("other errors are not those of ranks") {
  Watched w({made<KernelError>("a"), made<CancelledError>("b"), made<IoError>("c"), nullptr});
  w.text();
  w.text();
  w.embed();
  w.text();
  CHECK(w.reasons.empty());
  CHECK(w.listener->n_errors == 3);
}

}  // namespace
}  // namespace weft::server
