#pragma once
// Who may ask: host names, origins and sites of pages, keys. A ready-made part of a gate:
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
  // Paths that need no key, and take no body: Access::takes_body().
  std::vector<std::string> open_paths = {"/", "/health", "/v1/health", "/openapi.json"};
  // Paths to which pages of any site may have links.
  std::vector<std::string> page_paths = {"/"};
  // Wrong keys per minute of an address (of the first 64 bits of an IPv6 address) that are answered
  // with 401; more are answered with 429. At least 1.
  int wrong_keys_per_minute = 600;
};

// Threads: check() is called from one thread, the others from any.
class Access {
 public:
  using Refuse = std::function<Reply(const RequestHead& head, const Refusal& refusal)>;

  // Throws ValueError for an origin or a key that cannot match, and for a limit below 1.
  Access(const AccessOptions& options, Refuse refuse);
  ~Access();

  // The reply to a request that goes no further:
  //   403  for its host or origin, or if a browser says that a page of another site causes it
  //        (Sec-Fetch-Site), unless the page's origin is allowed or it follows a link to one of
  //        `page_paths`
  //   401  for its key; 429 with Retry-After if its address has sent too many wrong ones. A right
  //        key is accepted all the same, so that nobody locks out others behind the same proxy.
  //   204  if it is OPTIONS
  std::optional<Reply> check(const RequestHead& head) const;
  // Whether the body of a request that check() lets pass is read. Open paths take none: anybody
  // could hold a connection with one.
  bool takes_body(const RequestHead& head) const;
  // Access-Control-Allow-Origin for an allowed origin; Vary; Cross-Origin-Resource-Policy:
  // "cross-origin" for an allowed origin, else "same-origin".
  Headers answer_headers(const RequestHead& head) const;

  // Identifies a client: a number made from the key, or the peer if no key is needed.
  std::string client_of(const RequestHead& head) const;

  // A name that stands for the request's key: the same in every process that accepts the key, and
  // not the key itself. Empty if no key is needed.
  std::string owner_of(const RequestHead& head) const;

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
// Whether only this machine reaches a server that listens on `host`, an address or a name. False
// for paths of Unix sockets.
bool is_loopback(std::string_view host);

}  // namespace weft::http
