#include "request_record.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/api/json.h"
#include "weft/base/error.h"
#include "weft/base/read_file.h"
#include "weft/files/output_file.h"

namespace weft::server {
namespace {

constexpr std::size_t kMaxAnswer = std::size_t{64} << 20;

}  // namespace

void write_record(const std::string& path, const RequestRecord& t) {
  const api::Json json{
      {"weft", t.version},
      {"model", t.model},
      {"flags", t.flags},
      {"request", {{"method", t.method}, {"path", t.path}, {"query", t.query}, {"body", t.body}}},
      {"seed", t.seed},
      {"answer", {{"status", t.status}, {"body", t.answer}}}};
  OutputFile file(path, Readers::owner);
  file.write(api::to_text(json) + "\n");
  file.commit();
}

RequestRecord read_record(const std::string& path) {
  const std::string text = read_file(path);
  try {
    const api::Json json = api::parse_json(text);
    RequestRecord t;
    json.at("weft").get_to(t.version);
    json.at("model").get_to(t.model);
    json.at("flags").get_to(t.flags);
    const api::Json& request = json.at("request");
    request.at("method").get_to(t.method);
    request.at("path").get_to(t.path);
    request.at("query").get_to(t.query);
    request.at("body").get_to(t.body);
    json.at("seed").get_to(t.seed);
    json.at("answer").at("status").get_to(t.status);
    json.at("answer").at("body").get_to(t.answer);
    return t;
  } catch (const nlohmann::json::exception& error) {
    fail<FormatError>("{}: not a record of a request: {}", path, error.what());
  } catch (const Error& error) {
    fail<FormatError>("{}: not a record of a request: {}", path, error.what());
  }
}

// Passes everything on.
class RequestRecorder::Recording : public http::Exchange {
 public:
  Recording(std::shared_ptr<http::Exchange> next, RequestRecorder& recorder)
      : next_(std::move(next)), recorder_(recorder) {}
  ~Recording() override { recorder_.forget(request()); }

  const http::Request& request() const override { return next_->request(); }
  void reply(http::Reply reply) override {
    recorder_.finish(request(), reply.status, reply.body);
    next_->reply(std::move(reply));
  }
  void begin(http::Reply begin) override {
    status_ = begin.status;
    answer_ = begin.body;
    next_->begin(std::move(begin));
  }
  void write(std::string piece) override {
    if (answer_.size() < kMaxAnswer) answer_ += piece;
    next_->write(std::move(piece));
  }
  void end() override {
    recorder_.finish(request(), status_, std::move(answer_));
    next_->end();
  }
  std::size_t unsent() const override { return next_->unsent(); }
  void on_client_left(std::function<void()> left) override {
    next_->on_client_left(std::move(left));
  }

 private:
  std::shared_ptr<http::Exchange> next_;
  RequestRecorder& recorder_;
  int status_ = 0;
  std::string answer_;
};

RequestRecorder::RequestRecorder(std::string folder, RequestRecord common, Log& log)
    : folder_(std::move(folder)), common_(std::move(common)), log_(log) {}

std::shared_ptr<http::Exchange> RequestRecorder::record(std::shared_ptr<http::Exchange> exchange) {
  return std::make_shared<Recording>(std::move(exchange), *this);
}

void RequestRecorder::add_texts(const std::string& id, const std::string& model,
                                std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  texts_.insert_or_assign(id, Texts{model, seed});
}

void RequestRecorder::forget(const http::Request& request) {
  const std::lock_guard lock(mutex_);
  texts_.erase(request.id);
}

void RequestRecorder::finish(const http::Request& request, int status, std::string answer) {
  RequestRecord record = common_;
  {
    const std::lock_guard lock(mutex_);
    const auto texts = texts_.find(request.id);
    if (texts == texts_.end()) return;
    record.model = texts->second.model;
    record.seed = texts->second.seed;
    texts_.erase(texts);
  }
  record.method = request.method;
  record.path = request.path;
  record.query = request.query;
  record.body = request.body;
  record.status = status;
  record.answer = std::move(answer);
  try {
    write_record(fmt::format("{}/{}.json", folder_, request.id), record);
  } catch (const Error& error) {
    log_.message("error", fmt::format("--record-requests: {}", error.what()));
  }
}

}  // namespace weft::server
