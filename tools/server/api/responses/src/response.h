#pragma once
// The response object, as every answer, event and retrieval has it.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weft::api {
struct RunTotals;
}

namespace weft::api::responses {

struct Request;

struct Response {
  std::string id;
  std::int64_t created = 0;
  std::string model;
  std::shared_ptr<const Request> request;
};

// The fields that change while it is generated.
struct Progress {
  std::string_view status = "in_progress";
  std::string_view incomplete_reason = {};  // empty: null
  std::string_view output = "[]";           // JSON
  std::string_view usage = "null";          // JSON
};

std::string response_json(const Response& response, const Progress& progress);
std::string response_usage(const RunTotals& totals);

}  // namespace weft::api::responses
