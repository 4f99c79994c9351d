#pragma once
// Who may ask: host names, origins of pages, keys. A ready-made part of a gate:
//
//   Access access({.keys = split_list("one,two"), .hosts = names_of_this_machine()}, refuse);
//   hooks.gate = [&](const RequestHead& head) { return access.check(head); };
//   hooks.answer_headers = [&](const RequestHead& head) { return access.answer_headers(head); };

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/http/server.h"

namespace weft::http {

// "localhost", and the schemes of desktop programs and editors: no page of the web has one of these
// origins.
std::vector<std::string> default_origins();

struct AccessOptions {
  std::vector<std::string> keys = {};  // none: open
  // "https://app.example.org", "localhost" for every port of this machine, "app://*" for all pages
  // of a scheme, "*" for all.
  std::vector<std::string> origins = default_origins();
  std::vector<std::string> hosts = {};  // names in Host, without ports; none: all
  // Paths that need no key.
  std::vector<std::string> open_paths = {"/", "/health", "/v1/health", "/openapi.json"};
};

// Threads: set_keys() may be called from any thread, the others from one.
class Access {
 public:
  using Refuse = std::function<Reply(const RequestHead& head, const Refusal& refusal)>;

  // Throws ValueError for an origin or a key that cannot match.
  Access(const AccessOptions& options, Refuse refuse);
  ~Access();

  // The reply to a request that goes no further: 403 for its host or origin, 401 for its key, 204
  // if it is OPTIONS.
  std::optional<Reply> check(const RequestHead& head) const;
  // Access-Control-Allow-Origin for an allowed origin, and Vary.
  Headers answer_headers(const RequestHead& head) const;

  // Identifies a client: a number made from the key, or the peer if no key is needed.
  std::string client_of(const RequestHead& head) const;

  void set_keys(const std::vector<std::string>& keys);
  bool needs_key() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "one,two" -> one, two, without blanks around them. Empty ones are dropped.
std::vector<std::string> split_list(std::string_view text);
// One key per line; empty lines, and those that begin with '#', are skipped. Throws IoError naming
// the file.
std::vector<std::string> read_key_file(const std::string& path);

// Names in Host by which clients on this machine reach a server that is bound to loopback.
std::vector<std::string> names_of_this_machine();
// Whether only this machine reaches a server that listens on `host`, an address or a name.
bool is_loopback(std::string_view host);

}  // namespace weft::http
