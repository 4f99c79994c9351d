#include "weft/http/access.h"

#include <fstream>

#include <doctest/doctest.h>

#include "weft/base/error.h"

#include "support/temp_folder.h"

using namespace weft::http;

namespace {

Reply refuse(const RequestHead&, const Refusal& r) {
  return {.status = r.status, .body = r.type + " " + r.code};
}

RequestHead head(Headers headers, std::string method = "POST", std::string path = "/v1/models") {
  RequestHead result;
  result.method = std::move(method);
  result.path = std::move(path);
  result.headers = std::move(headers);
  return result;
}

// The status of a request that goes no further; 0 if it does.
int status(const Access& access, const RequestHead& request) {
  const auto reply = access.check(request);
  return reply ? reply->status : 0;
}

}  // namespace

TEST_CASE("keys") {
  Access access({.keys = {"one", "two"}}, refuse);
  const auto with = [&](const char* name, const char* value) {
    return status(access, head({{name, value}}));
  };
  CHECK(with("Authorization", "Bearer one") == 0);
  CHECK(with("authorization", "bEARER   two ") == 0);
  CHECK(with("X-Api-Key", "one") == 0);
  for (const char* wrong : {"one", "Basic one", "Bearer", "Bearer ", "Bearer on", "Bearer onee",
                            "Bearer one two", "Bearer one,two", "Bearer ONE"})
    CHECK(with("Authorization", wrong) == 401);
  CHECK(with("X-Api-Key", "") == 401);
  const auto reply = access.check(head({}));
  CHECK(reply->body == "authentication_error invalid_api_key");
  CHECK(find_header(reply->headers, "www-authenticate") == "Bearer");

  for (const char* open : {"/", "/health", "/v1/health", "/openapi.json"})
    CHECK(status(access, head({}, "GET", open)) == 0);
  CHECK(status(access, head({}, "GET", "/healthy")) == 401);

  // One client, however it writes its key.
  const auto client = [&](Headers headers) { return access.client_of(head(std::move(headers))); };
  const std::string one = client({{"Authorization", "Bearer one"}});
  CHECK(one == client({{"authorization", "bearer  one"}, {"X-Api-Key", "anything"}}));
  CHECK(one == client({{"X-Api-Key", "one"}}));
  CHECK(one != client({{"X-Api-Key", "two"}}));
  CHECK(one.find("one") == one.npos);

  access.set_keys({"three"});
  CHECK(with("X-Api-Key", "one") == 401);
  CHECK(with("X-Api-Key", "three") == 0);
  access.set_keys({});
  CHECK(!access.needs_key());
  CHECK(status(access, head({})) == 0);
  for (const char* bad : {"", "a b", "a\n"})
    CHECK_THROWS_AS(access.set_keys({bad}), weft::ValueError);
}

TEST_CASE("wrong keys are limited for each address, right ones are not") {
  const Access access({.keys = {"one"}, .wrong_keys_per_minute = 3}, refuse);
  const auto from = [&](const char* peer, const char* key) {
    RequestHead request = head({{"X-Api-Key", key}});
    request.peer = peer;
    return access.check(request);
  };
  for (int i = 0; i < 20; ++i) CHECK(from("192.0.2.1", "")->status == 401);
  for (int i = 0; i < 3; ++i) CHECK(from("192.0.2.1", "wrong")->status == 401);
  const auto limited = from("192.0.2.1", "wrong");
  CHECK(limited->status == 429);
  const int wait = std::stoi(std::string(find_header(limited->headers, "retry-after")));
  CHECK(wait >= 1);
  CHECK(wait <= 20);
  CHECK(limited->body.find("wrong") == std::string::npos);
  CHECK(!from("192.0.2.1", "one"));
  CHECK(from("192.0.2.1", "")->status == 401);
  CHECK(from("192.0.2.2", "wrong")->status == 401);
  for (int i = 0; i < 3; ++i)
    CHECK(from(("2001:db8::" + std::to_string(i)).c_str(), "wrong")->status == 401);
  CHECK(from("2001:db8::9", "wrong")->status == 429);
}

TEST_CASE("open paths take no body") {
  const Access access({.keys = {"one"}}, refuse);
  CHECK_FALSE(access.takes_body(head({}, "GET", "/health")));
  CHECK(access.takes_body(head({}, "POST", "/v1/completions")));
}

TEST_CASE("lists and files of keys") {
  using List = std::vector<std::string>;
  CHECK(split_list(" one, two,,three ") == List{"one", "two", "three"});
  CHECK(split_list("").empty());
  const weft::test::TempFolder folder;
  const std::string path = folder / "keys";
  std::ofstream(path) << "# first\n\n one\r\n#two\nthree";
  CHECK(read_key_file(path) == List{"one", "three"});
  std::ofstream(path) << "\xEF\xBB\xBFone\r\n";
  CHECK(read_key_file(path) == List{"one"});
  CHECK_THROWS_AS(read_key_file(path + "x"), weft::IoError);
  CHECK_THROWS_AS(read_key_file(folder.path().string()), weft::IoError);
}

TEST_CASE("host names") {
  const Access access({.hosts = {"localhost", "127.0.0.1", "[::1]"}}, refuse);
  const auto of = [&](const char* host) { return status(access, head({{"Host", host}})); };
  for (const char* good :
       {"localhost", "LocalHost:8080", "127.0.0.1:1", "[::1]:80", "localhost.", ""})
    CHECK(of(good) == 0);
  for (const char* bad :
       {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "[::2]", "::1"})
    CHECK(of(bad) == 403);
  CHECK(status(Access({}, refuse), head({{"Host", "any"}})) == 0);
  const Access machine({.hosts = names_of_this_machine()}, refuse);
  CHECK(status(machine, head({{"Host", "host.docker.internal:8080"}})) == 0);
}

TEST_CASE("origins") {
  const Access local({}, refuse);
  const auto of = [](const Access& access, const char* origin) {
    return status(access, head({{"Host", "me.example:80"}, {"Origin", origin}}));
  };
  for (const char* good :
       {"http://localhost:3000", "https://localhost", "http://127.0.0.1:5173", "http://[::1]:1",
        "http://me.example:80", "app://obsidian.md", "file://", "Tauri://localhost",
        "vscode-webview://1a2b", "vscode-file://vscode-app"})
    CHECK(of(local, good) == 0);
  for (const char* bad :
       {"https://evil.example", "null", "http://localhost.evil.example",
        "http://127.0.0.1.evil.example", "localhost", "app:", "apps://evil.example",
        "http://app.evil.example", "https://evil.example?app://x", "http://me.example",
        "http://localhost/x", "http://u@localhost"})
    CHECK(of(local, bad) == 403);
  const Access listed({.origins = {"https://a.example"}}, refuse);
  CHECK(of(listed, "https://a.example") == 0);
  CHECK(of(listed, "https://a.example.evil.example") == 403);
  CHECK(of(listed, "http://a.example") == 403);
  CHECK(of(listed, "http://localhost") == 403);
  CHECK(of(listed, "app://obsidian.md") == 403);
  CHECK(of(Access({.origins = {"*"}}, refuse), "null") == 0);
  CHECK_THROWS_AS(Access({.origins = {"://*"}}, refuse), weft::ValueError);
  CHECK_THROWS_AS(Access({.origins = {"a.example"}}, refuse), weft::ValueError);
}

TEST_CASE("requests that pages of other sites cause") {
  const Access local({.page_paths = {"/", "/ui/page/main.js"}}, refuse);
  const auto get = [](const Access& access, const char* site, Headers more, const char* path,
                      const char* host = "localhost:8080") {
    more.emplace_back("Host", host);
    more.emplace_back("Sec-Fetch-Site", site);
    return status(access, head(std::move(more), "GET", path));
  };
  const Headers picture{{"Sec-Fetch-Mode", "no-cors"}, {"Sec-Fetch-Dest", "image"}};
  const Headers link{{"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "document"}};
  const Headers frame{{"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "iframe"}};
  for (const char* path : {"/", "/props", "/health"}) {
    CHECK(get(local, "cross-site", picture, path) == 403);
    CHECK(get(local, "cross-site", frame, path) == 403);
    CHECK(get(local, "cross-site", {}, path) == 403);
    for (const char* own : {"same-origin", "none"}) {
      CHECK(get(local, own, picture, path) == 0);
      CHECK(get(local, own, link, path) == 0);
    }
  }
  CHECK(get(local, "cross-site", link, "/") == 0);
  CHECK(get(local, "cross-site", link, "/ui/page/main.js") == 0);
  CHECK(get(local, "cross-site", link, "/props") == 403);
  Headers post = link;
  post.emplace_back("Sec-Fetch-Site", "cross-site");
  CHECK(status(local, head(post, "POST", "/")) == 403);

  // Pages of other ports of this machine, but not of other names of a domain.
  CHECK(get(local, "same-site", picture, "/props") == 0);
  CHECK(get(local, "same-site", picture, "/props", "weft.example.org") == 403);
  CHECK(get(local, "same-site", link, "/", "weft.example.org") == 0);

  const Access listed({.origins = {"https://a.example"}}, refuse);
  CHECK(get(listed, "cross-site", {{"Origin", "https://a.example"}}, "/props") == 0);
  CHECK(get(listed, "cross-site", {{"Origin", "https://b.example"}}, "/props") == 403);
  CHECK(get(listed, "cross-site", picture, "/props") == 403);
  CHECK(get(listed, "same-site", picture, "/props") == 403);
  CHECK(get(Access({.origins = {"*"}}, refuse), "cross-site", picture, "/props") == 0);
}

TEST_CASE("names that end like the path of a Unix socket are not this machine") {
  const Access access({.hosts = names_of_this_machine()}, refuse);
  CHECK(status(access, head({{"Host", "localhost"}, {"Origin", "http://evil.sock"}})) == 403);
  CHECK(status(access, head({{"Host", "evil.sock"}})) == 403);
}

TEST_CASE("preflights and headers for pages") {
  const Access access({.keys = {"one"}}, refuse);
  const RequestHead preflight = head({{"Origin", "http://localhost:1"},
                                      {"Access-Control-Request-Method", "POST"},
                                      {"Access-Control-Request-Headers", "x-mine"}},
                                     "OPTIONS");
  const auto reply = access.check(preflight);  // without a key
  REQUIRE(reply);
  CHECK(reply->status == 204);
  CHECK(find_header(reply->headers, "access-control-allow-methods").find("POST") !=
        std::string::npos);
  CHECK(find_header(reply->headers, "access-control-allow-headers") == "x-mine");
  const Headers more = access.answer_headers(preflight);
  CHECK(find_header(more, "access-control-allow-origin") == "http://localhost:1");
  CHECK(find_header(more, "vary") == "Origin");
  CHECK(find_header(more, "cross-origin-resource-policy") == "cross-origin");
  const RequestHead foreign = head({{"Origin", "https://evil.example"}}, "OPTIONS");
  CHECK(status(access, foreign) == 403);
  CHECK(find_header(access.answer_headers(foreign), "access-control-allow-origin").empty());
  CHECK(find_header(access.answer_headers(foreign), "vary") == "Origin");
  for (const RequestHead& request : {foreign, head({})})
    CHECK(find_header(access.answer_headers(request), "cross-origin-resource-policy") ==
          "same-origin");
  const Access all({.origins = {"*"}}, refuse);
  CHECK(find_header(all.answer_headers(head({})), "cross-origin-resource-policy") ==
        "cross-origin");
}

TEST_CASE("loopback") {
  for (const char* yes : {"127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]"})
    CHECK(is_loopback(yes));
  for (const char* no : {"0.0.0.0", "::", "", "127.0.0.1.example", "128.0.0.1", "evil.sock"})
    CHECK(!is_loopback(no));
}
