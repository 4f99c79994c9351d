#include "weft/http/access.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "weft/base/clock.h"
#include "weft/base/error.h"
#include "weft/base/text.h"
#include "weft/http/rate_limit.h"

#include "keys.h"
#include "peer_group.h"

namespace weft::http {
namespace {

constexpr std::string_view kMethods = "GET, HEAD, POST, DELETE, OPTIONS";
// A preflight is repeated after these seconds.
constexpr std::string_view kMaxAge = "600";

// "localhost:8080" -> "localhost", "[::1]:8080" -> "[::1]"
std::string_view without_port(std::string_view host) {
  const std::size_t bracket = host.find(']');
  const std::size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  return host.substr(0, colon);
}

struct Origin {
  std::string_view scheme, host;  // with its port
};

std::optional<Origin> parse_origin(std::string_view text) {
  const std::size_t mark = text.find("://");
  if (mark == std::string_view::npos || mark == 0) return std::nullopt;
  const Origin origin{text.substr(0, mark), text.substr(mark + 3)};
  if (origin.host.empty() || origin.host.find_first_of("/?#@ ") != std::string_view::npos)
    return std::nullopt;
  return origin;
}

bool is_web(std::string_view scheme) {
  return equals_ignoring_case(scheme, "http") || equals_ignoring_case(scheme, "https");
}

// The scheme of "app://*" with its separator; empty for other origins.
std::string_view scheme_of_pattern(std::string_view origin) {
  constexpr std::string_view kEnd = "://*";
  if (!origin.ends_with(kEnd) || origin.size() == kEnd.size()) return {};
  return origin.substr(0, origin.size() - 1);
}

void check_origin_option(const std::string& origin) {
  if (origin != "*" && origin != "localhost" && !parse_origin(origin))
    fail<ValueError>("an origin is 'https://name', 'scheme://*', 'localhost' or '*', got '{}'",
                     origin);
}

// The key of a request; empty if it has none. The first header that has one counts.
std::string_view key_of(const RequestHead& head) {
  const std::string_view text = trim(find_header(head.headers, "authorization"));
  constexpr std::string_view kScheme = "bearer ";
  if (equals_ignoring_case(text.substr(0, kScheme.size()), kScheme))
    return trim(text.substr(kScheme.size()));
  return trim(find_header(head.headers, "x-api-key"));
}

// Whether it shows an answer in a window of its own, as after a click on a link. Frames and
// embedded objects do not.
bool is_navigation(const RequestHead& head) {
  const std::string_view to = find_header(head.headers, "sec-fetch-dest");
  return find_header(head.headers, "sec-fetch-mode") == "navigate" &&
         (to.empty() || to == "document") && (head.method == "GET" || head.method == "HEAD");
}

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

std::vector<std::string> default_origins() {
  return {"localhost", "app://*", "file://*", "tauri://*", "vscode-webview://*", "vscode-file://*"};
}

struct Access::Impl {
  Impl(const AccessOptions& o, Refuse r)
      : options(o), refuse(std::move(r)), wrong_keys(o.wrong_keys_per_minute) {}

  AccessOptions options;
  Refuse refuse;
  KeySet keys;
  RateLimit wrong_keys;

  bool is_open(const RequestHead& head) const { return contains(options.open_paths, head.path); }
  bool host_allowed(const RequestHead& head) const;
  bool origin_allowed(const RequestHead& head, std::string_view origin) const;
  bool site_allowed(const RequestHead& head) const;
  std::optional<Refusal> page_refusal(const RequestHead& head) const;
  std::optional<Reply> key_reply(const RequestHead& head);
  Reply options_reply(const RequestHead& head) const;
};

bool Access::Impl::host_allowed(const RequestHead& head) const {
  const std::string_view value = find_header(head.headers, "host");
  // Browsers, which a rebound name deceives, send one.
  if (options.hosts.empty() || value.empty()) return true;
  std::string_view host = without_port(value);
  if (host.ends_with('.')) host.remove_suffix(1);
  return std::any_of(options.hosts.begin(), options.hosts.end(),
                     [&](const std::string& name) { return equals_ignoring_case(host, name); });
}

bool Access::Impl::origin_allowed(const RequestHead& head, std::string_view text) const {
  const auto origin = parse_origin(text);
  // The server's own pages. The name in Host was checked before.
  if (origin && is_web(origin->scheme) &&
      equals_ignoring_case(origin->host, find_header(head.headers, "host")))
    return true;
  return std::any_of(options.origins.begin(), options.origins.end(), [&](const std::string& o) {
    if (o == "*") return true;
    const std::string_view scheme = scheme_of_pattern(o);
    if (!scheme.empty()) return equals_ignoring_case(text.substr(0, scheme.size()), scheme);
    if (o != "localhost") return equals_ignoring_case(o, text);
    return origin && is_web(origin->scheme) && is_loopback(without_port(origin->host));
  });
}

// Pages cause requests without an Origin, too: pictures, scripts, frames, links. Browsers tell of
// them in the headers of Fetch Metadata.
bool Access::Impl::site_allowed(const RequestHead& head) const {
  const std::string_view site = find_header(head.headers, "sec-fetch-site");
  if (site != "cross-site" && site != "same-site") return true;
  if (contains(options.origins, "*")) return true;
  // Pages of the same site differ in their port, or, if it has a name in a domain, in that name.
  const bool local = is_loopback(without_port(find_header(head.headers, "host")));
  if (site == "same-site" && local && contains(options.origins, "localhost")) return true;
  return is_navigation(head) && contains(options.page_paths, head.path);
}

std::optional<Refusal> Access::Impl::page_refusal(const RequestHead& head) const {
  const std::string_view origin = find_header(head.headers, "origin");
  if (origin.empty() ? site_allowed(head) : origin_allowed(head, origin)) return std::nullopt;
  return Refusal{403,
                 origin.empty() ? "pages of other sites are not allowed (--cors-origins)"
                                : "pages of this origin are not allowed (--cors-origins)",
                 "permission_error"};
}

std::optional<Reply> Access::Impl::key_reply(const RequestHead& head) {
  if (keys.empty()) return std::nullopt;
  const std::string_view key = key_of(head);
  if (keys.contains(key)) return std::nullopt;
  const int wait =
      key.empty() ? 0 : wrong_keys.seconds_to_wait(peer_group(head.peer), Clock::now());
  if (wait > 0) {
    Reply reply = refuse(head, {429, "too many wrong API keys", "rate_limit_error"});
    reply.headers.emplace_back("Retry-After", fmt::to_string(wait));
    return reply;
  }
  Reply reply = refuse(
      head,
      {401, key.empty() ? "an API key is needed (Authorization: Bearer KEY)" : "wrong API key",
       "authentication_error", "invalid_api_key"});
  reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

// Browsers ask before they send; others ask for the methods of a path.
Reply Access::Impl::options_reply(const RequestHead& head) const {
  Reply reply{.status = 204};
  reply.headers.emplace_back("Allow", kMethods);
  if (find_header(head.headers, "origin").empty()) return reply;
  const std::string_view wanted = find_header(head.headers, "access-control-request-headers");
  reply.headers.emplace_back("Access-Control-Allow-Methods", kMethods);
  reply.headers.emplace_back("Access-Control-Allow-Headers",
                             wanted.empty() ? "authorization, content-type, x-api-key" : wanted);
  reply.headers.emplace_back("Access-Control-Max-Age", kMaxAge);
  // Pages of the web that reach into a private network ask for this, too.
  if (!find_header(head.headers, "access-control-request-private-network").empty())
    reply.headers.emplace_back("Access-Control-Allow-Private-Network", "true");
  return reply;
}

Access::Access(const AccessOptions& options, Refuse refuse)
    : impl_(std::make_unique<Impl>(options, std::move(refuse))) {
  for (const std::string& origin : options.origins) check_origin_option(origin);
  if (options.wrong_keys_per_minute < 1)
    fail<ValueError>("wrong_keys_per_minute must be at least 1, got {}",
                     options.wrong_keys_per_minute);
  impl_->options.keys.clear();  // only their hashes are kept
  impl_->keys.set(options.keys);
}

Access::~Access() = default;

std::optional<Reply> Access::check(const RequestHead& head) const {
  if (!impl_->host_allowed(head))
    return impl_->refuse(
        head,
        {403, "requests for this host name are not allowed (--allowed-hosts)", "permission_error"});
  if (const auto refusal = impl_->page_refusal(head)) return impl_->refuse(head, *refusal);
  if (head.method == "OPTIONS") return impl_->options_reply(head);
  if (impl_->is_open(head)) return std::nullopt;
  return impl_->key_reply(head);
}

bool Access::takes_body(const RequestHead& head) const {
  return !impl_->is_open(head);
}

Headers Access::answer_headers(const RequestHead& head) const {
  Headers headers{{"Vary", "Origin"}};
  const std::string_view origin = find_header(head.headers, "origin");
  const bool host = impl_->host_allowed(head);
  const bool named = !origin.empty() && host && impl_->origin_allowed(head, origin);
  const bool any = host && contains(impl_->options.origins, "*");
  headers.emplace_back("Cross-Origin-Resource-Policy",
                       named || any ? "cross-origin" : "same-origin");
  if (!named) return headers;
  headers.emplace_back("Access-Control-Allow-Origin", origin);
  headers.emplace_back("Access-Control-Expose-Headers", "x-request-id, retry-after");
  return headers;
}

std::string Access::client_of(const RequestHead& head) const {
  if (!needs_key()) return peer_group(head.peer);
  return fmt::format("{:016x}", std::hash<std::string_view>()(key_of(head)));
}

std::string Access::owner_of(const RequestHead& head) const {
  return needs_key() ? digest_name(fmt::format("owner {}", key_of(head))) : "";
}

void Access::set_keys(const std::vector<std::string>& keys) {
  impl_->keys.set(keys);
}

bool Access::needs_key() const {
  return !impl_->keys.empty();
}

}  // namespace weft::http
