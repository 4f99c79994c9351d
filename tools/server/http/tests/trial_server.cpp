// Answers as a model server would, without a model: for tests of the protocol alone, by hand or
// with scripts that know only addresses. It takes the flags of `weft serve` that concern HTTP and
// ignores all others.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/http/access.h"
#include "weft/http/media.h"
#include "weft/http/server.h"

namespace {

using namespace weft::http;

struct Flags {
  ServerOptions server;
  AccessOptions access;
};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

Reply refuse(const RequestHead& head, const Refusal& r) {
  const std::string message = escaped(r.message);
  Reply reply{.status = r.status};
  if (head.path.starts_with("/api/"))
    reply.body = fmt::format(R"({{"error": "{}"}})", message);
  else
    reply.body = fmt::format(
        R"({{"error": {{"message": "{}", "type": "{}", "param": null, "code": "{}"}}}})", message,
        r.type, r.code);
  return reply;
}

const std::map<std::string, std::string> kPages = {
    {"/health", R"({"status": "ok"})"},
    {"/v1/models", R"({"object": "list", "data": []})"},
    {"/metrics", "requests_processing 0\n"},
    {"/slots", "[]"},
    {"/props", "{}"},
    {"/", "hello"},
};

std::optional<Reply> special_reply(const RequestHead& head) {
  const bool chat = head.path == "/v1/chat/completions";
  if (!chat && !kPages.contains(head.path))
    return refuse(head, {404, "unknown path " + head.path, "not_found_error"});
  const bool get = head.method == "GET" || head.method == "HEAD";
  if (chat && !may_be_json(head)) return refuse(head, {415, "not JSON"});
  if (chat ? head.method == "POST" : get) return std::nullopt;
  Reply reply = refuse(head, {405, "method"});
  reply.headers.emplace_back("Allow", chat ? "POST" : "GET, HEAD");
  return reply;
}

void stream_chat(Exchange& exchange, int n) {
  exchange.begin({.content_type = "text/event-stream"});
  for (int i = 0; i < n; ++i)
    exchange.write(
        "data: {\"object\": \"chat.completion.chunk\", \"choices\": [{\"index\": 0, \"delta\": "
        "{\"content\": \"word \"}, \"finish_reason\": null}]}\n\n");
  exchange.write("data: [DONE]\n\n");
  exchange.end();
}

void chat(Exchange& exchange) {
  const std::string& body = exchange.request().body;
  if (body.find("\"messages\": [") == std::string::npos)
    return exchange.reply(refuse(exchange.request(), {400, "messages"}));
  if (body.find("word word word") != std::string::npos)
    return exchange.reply(refuse(exchange.request(), {400, "too long"}));
  if (body.find("\"stream\": true") != std::string::npos) return stream_chat(exchange, 1000);
  exchange.reply({.body = R"({"object": "chat.completion", "choices": [{"index": 0, "message": {)"
                          R"("role": "assistant", "content": "hi"}, "finish_reason": "stop"}]})"});
}

void answer(const std::shared_ptr<Exchange>& exchange) {
  const auto page = kPages.find(exchange->request().path);
  if (page != kPages.end()) return exchange->reply({.body = page->second});
  std::thread([exchange] { chat(*exchange); }).detach();
}

Flags parse_flags(int argc, char** argv) {
  Flags flags;
  std::map<std::string, std::string> all;
  for (int i = 1; i + 1 < argc; ++i) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--api-key")
      for (auto& key : split_list(value)) flags.access.keys.push_back(key);
    if (name == "--api-key-file")
      for (auto& key : read_key_file(value)) flags.access.keys.push_back(key);
    all[name] = value;
  }
  const char* key = std::getenv("WEFT_API_KEY");
  if (flags.access.keys.empty() && key != nullptr) flags.access.keys = split_list(key);
  if (all.contains("--host")) flags.server.host = all["--host"];
  if (all.contains("--port")) flags.server.port = std::stoi(all["--port"]);
  if (all.contains("--timeout"))
    flags.server.timeout = std::chrono::seconds(std::stoi(all["--timeout"]));
  if (all.contains("--cors-origins")) flags.access.origins = split_list(all["--cors-origins"]);
  flags.server.prefix = all["--api-prefix"];
  flags.server.cert_file = all["--ssl-cert-file"];
  flags.server.key_file = all["--ssl-key-file"];
  if (is_loopback(flags.server.host)) flags.access.hosts = names_of_this_machine();
  flags.server.listening_sockets = inherited_sockets();
  return flags;
}

void serve(int argc, char** argv) {
  const Flags flags = parse_flags(argc, argv);
  Access access(flags.access, refuse);
  Hooks hooks{.handler = answer, .refuse = refuse};
  hooks.gate = [&](const RequestHead& head) {
    auto reply = access.check(head);
    return reply ? reply : special_reply(head);
  };
  hooks.answer_headers = [&](const RequestHead& head) { return access.answer_headers(head); };
  hooks.log = [](const RequestHead& head, int status, std::size_t n, double seconds) {
    fmt::print(stderr, "{} {} {} {} {} bytes {:.6f} s\n", head.id, head.method, head.path, status,
               n, seconds);
  };
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  Server server(flags.server, hooks);
  fmt::print(stderr, "listening on {}\n", server.url());
  std::thread([&] {
    for (int n = 0, signal = 0; sigwait(&signals, &signal) == 0; ++n)
      n == 0 ? server.drain() : server.stop();
  }).detach();
  server.run();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    serve(argc, argv);
  } catch (const weft::Error& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return 1;
  }
  return 0;
}
