#include "weft/http/access.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/text.h"

#include "keys.h"

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

}  // namespace

std::vector<std::string> default_origins() {
  return {"localhost", "app://*", "file://*", "tauri://*", "vscode-webview://*", "vscode-file://*"};
}

struct Access::Impl {
  AccessOptions options;
  Refuse refuse;
  KeySet keys;

  bool host_allowed(const RequestHead& head) const;
  bool origin_allowed(const RequestHead& head, std::string_view origin) const;
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

Access::Access(const AccessOptions& options, Refuse refuse) : impl_(std::make_unique<Impl>()) {
  for (const std::string& origin : options.origins) check_origin_option(origin);
  impl_->options = options;
  impl_->options.keys.clear();  // only their hashes are kept
  impl_->refuse = std::move(refuse);
  impl_->keys.set(options.keys);
}

Access::~Access() = default;

std::optional<Reply> Access::check(const RequestHead& head) const {
  if (!impl_->host_allowed(head))
    return impl_->refuse(
        head,
        {403, "requests for this host name are not allowed (--allowed-hosts)", "permission_error"});
  const std::string_view origin = find_header(head.headers, "origin");
  if (!origin.empty() && !impl_->origin_allowed(head, origin))
    return impl_->refuse(
        head, {403, "pages of this origin are not allowed (--cors-origins)", "permission_error"});
  if (head.method == "OPTIONS") return impl_->options_reply(head);
  const auto& open = impl_->options.open_paths;
  if (std::find(open.begin(), open.end(), head.path) != open.end()) return std::nullopt;
  if (impl_->keys.empty()) return std::nullopt;
  const std::string_view key = key_of(head);
  if (impl_->keys.contains(key)) return std::nullopt;
  Reply reply = impl_->refuse(
      head,
      {401, key.empty() ? "an API key is needed (Authorization: Bearer KEY)" : "wrong API key",
       "authentication_error", "invalid_api_key"});
  reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

Headers Access::answer_headers(const RequestHead& head) const {
  Headers headers{{"Vary", "Origin"}};
  const std::string_view origin = find_header(head.headers, "origin");
  if (origin.empty() || !impl_->host_allowed(head) || !impl_->origin_allowed(head, origin))
    return headers;
  headers.emplace_back("Access-Control-Allow-Origin", origin);
  headers.emplace_back("Access-Control-Expose-Headers", "x-request-id, retry-after");
  return headers;
}

std::string Access::client_of(const RequestHead& head) const {
  if (!needs_key()) return head.peer;
  return fmt::format("{:016x}", std::hash<std::string_view>()(key_of(head)));
}

void Access::set_keys(const std::vector<std::string>& keys) {
  impl_->keys.set(keys);
}

bool Access::needs_key() const {
  return !impl_->keys.empty();
}

}  // namespace weft::http
