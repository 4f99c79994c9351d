#include "weft/program/repeat.h"

#include <algorithm>
#include <future>
#include <iostream>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/api/endpoints.h"
#include "weft/api/errors.h"
#include "weft/api/json.h"
#include "weft/api/workers.h"
#include "weft/base/error.h"
#include "weft/hosting/model_files.h"

#include "interfaces.h"
#include "load_model.h"
#include "request_record.h"

namespace weft::server {
namespace {

// Members of answers that are new for each request, or depend on cached tokens.
constexpr std::string_view kVolatile[] = {"id",
                                          "item_id",
                                          "response_id",
                                          "call_id",
                                          "created",
                                          "created_at",
                                          "completed_at",
                                          "timings",
                                          "id_slot",
                                          "total_duration",
                                          "load_duration",
                                          "prompt_eval_duration",
                                          "eval_duration",
                                          "cached_tokens",
                                          "tokens_cached",
                                          "cache_read_input_tokens",
                                          "input_tokens",
                                          "system_fingerprint"};

void remove_volatile(api::Json& json) {
  if (json.is_object())
    for (const std::string_view name : kVolatile) json.erase(std::string(name));
  if (json.is_structured())
    for (api::Json& item : json) remove_volatile(item);
}

// A body, or the line of a stream, without volatile members.
std::string comparable(std::string_view text) {
  constexpr std::string_view kData = "data: ";
  const bool event = text.starts_with(kData);
  api::Json json = api::Json::parse(text.substr(event ? kData.size() : 0), nullptr, false);
  if (json.is_discarded()) return std::string(text);
  remove_volatile(json);
  return api::to_text(json);
}

std::vector<std::string> comparable_lines(std::string_view body) {
  std::vector<std::string> lines;
  while (!body.empty()) {
    const std::size_t end = body.find('\n');
    const std::string_view line = body.substr(0, end);
    const bool comment = line.starts_with(':');  // sent while a stream is silent
    if (!line.empty() && !comment) lines.push_back(comparable(line));
    body.remove_prefix(end == body.npos ? body.size() : end + 1);
  }
  return lines;
}

using Answer = std::pair<int, std::string>;

// Collects an answer.
class Captured : public http::Exchange {
 public:
  explicit Captured(http::Request request) : request_(std::move(request)) {}
  const http::Request& request() const override { return request_; }
  void reply(http::Reply reply) override { done_.set_value({reply.status, std::move(reply.body)}); }
  void begin(http::Reply begin) override { answer_ = {begin.status, std::move(begin.body)}; }
  void write(std::string piece) override { answer_.second += piece; }
  void end() override { done_.set_value(std::move(answer_)); }
  std::size_t unsent() const override { return 0; }
  void on_client_left(std::function<void()>) override {}

  // Breaks if the exchange is destroyed without an answer.
  std::future<Answer> answer() { return done_.get_future(); }

 private:
  const http::Request request_;
  Answer answer_;
  std::promise<Answer> done_;
};

// The server's flags, with the seed of the record as the one of all requests.
Flags flags_of(const RequestRecord& record) {
  std::vector<std::string> arguments = record.flags;
  arguments.insert(arguments.begin(), "weft serve");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  Flags flags;
  if (parse(static_cast<int>(argv.size()), argv.data(), flags))
    fail<FormatError>("the flags of the record are not those of this program");
  flags.sampler.seed = record.seed;
  flags.seed_given = true;
  return flags;
}

Answer answer_of(std::future<Answer>& future, const std::string& file) {
  try {
    return future.get();
  } catch (const std::future_error&) {
    fail<Error>("{}: the request was dropped without an answer", file);
  }
}

http::Request request_of(const RequestRecord& record) {
  http::Request request;
  request.method = record.method;
  request.path = record.path;
  request.query = record.query;
  request.body = record.body;
  request.id = "repeat";
  return request;
}

// A model with the interfaces around it. The engine's thread may be the last that uses them and
// holds the model, but must not destroy its own engine: the end waits until it has released both.
class Interfaces {
 public:
  Interfaces(const api::ServedModel& model, const std::string& version)
      : models_(api::one_model({&model, [all = released_](auto*) { all->set_value(); }})),
        services_{*models_, workers_, {}},
        router_(interface_endpoints({}), services_) {
    services_.options.version = version;
  }
  ~Interfaces() {
    workers_.stop();
    models_.reset();
    released_->get_future().wait();
  }
  Interfaces(const Interfaces&) = delete;
  Interfaces& operator=(const Interfaces&) = delete;

  Answer answer(const RequestRecord& record, const std::string& file) {
    auto exchange = std::make_shared<Captured>(request_of(record));
    auto future = exchange->answer();
    router_.handle(std::move(exchange));
    return answer_of(future, file);
  }

 private:
  const std::shared_ptr<std::promise<void>> released_ = std::make_shared<std::promise<void>>();
  api::Workers workers_;
  std::unique_ptr<api::Models> models_;
  api::Services services_;
  api::Router router_;
};

}  // namespace

int repeat(const std::string& file, const std::string& version) {
  const RequestRecord record = read_record(file);
  const Flags flags = flags_of(record);
  const auto warn = [](std::string_view text) { std::cerr << "warning: " << text << '\n'; };
  ServerMetrics metrics;
  const HostedModel source{record.model, {stem_of(record.model)}};
  const auto model =
      start_model(open_model(flags, record.model, warn), source, flags, 0, metrics, {}, warn);
  const auto [status, answer] = Interfaces(*model, version).answer(record, file);
  std::cout << answer;
  if (status == record.status && comparable_lines(answer) == comparable_lines(record.answer))
    return 0;
  std::cerr << fmt::format("{}: the answer differs from the record's\n", file);
  return 1;
}

}  // namespace weft::server
