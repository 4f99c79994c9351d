#pragma once
// Requests as files, from which `weft repeat` computes their answers again.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/http/exchange.h"

#include "access_log.h"

namespace weft::server {

struct RequestRecord {
  std::string version;             // the server's
  std::string model;               // path
  std::vector<std::string> flags;  // the server's, without keys
  std::string method, path, query, body;
  std::uint64_t seed = 0;  // the seed with which the texts were drawn
  int status = 0;
  std::string answer;  // its body
};

// A JSON object. Throws IoError; the file is complete or absent.
void write_record(const std::string& path, const RequestRecord& record);
// Throws IoError, FormatError.
RequestRecord read_record(const std::string& path);

// Writes FOLDER/ID.json for each request whose texts were computed. Threads: any.
class RequestRecorder {
 public:
  RequestRecorder(std::string folder, RequestRecord common, Log& log);

  // An exchange that records the answer. The recorder outlives it.
  std::shared_ptr<http::Exchange> record(std::shared_ptr<http::Exchange> exchange);
  // The texts of the request with this id are complete. `model`: its path.
  void add_texts(const std::string& id, const std::string& model, std::uint64_t seed);

 private:
  class Recording;
  void forget(const http::Request& request);
  void finish(const http::Request& request, int status, std::string answer);

  const std::string folder_;
  const RequestRecord common_;
  Log& log_;
  std::mutex mutex_;
  struct Texts {
    std::string model;
    std::uint64_t seed;
  };
  std::unordered_map<std::string, Texts> texts_;  // by id
};

}  // namespace weft::server
