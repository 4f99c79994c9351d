// The parts of the program that work without HTTP and without weights.

#include <algorithm>
#include <chrono>
#include <fstream>
#include <future>
#include <iterator>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/base/error.h"

#include "access_log.h"
#include "request_record.h"
#include "support/temp_folder.h"

namespace weft::server {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("log lines cannot be forged") {
  const test::TempFolder folder;
  for (const bool json : {false, true}) {
    const std::string path = (folder / (json ? "json" : "plain")).string();
    {
      Log log(path, json);
      AccessRecord record;
      record.method = "GET";
      record.path = "/v1/x\r\n\"FORGED\\ \xff\x7f";
      record.id = "req_1";
      record.status = 200;
      record.tokens = {7, 3, 2};
      log.access(record);
      log.message("error", "first\nsecond");
    }
    const std::string text = text_of(path);
    CHECK(std::ranges::count(text, '\n') == 2);
    CHECK(text.find("\\x0d") != text.npos);
    CHECK(text.find("xff") != text.npos);
    CHECK(text.find('\xff') == text.npos);
    CHECK(text.find("req_1") != text.npos);
    if (json)
      CHECK(text.find(R"("prompt_tokens":7,"cached_tokens":3,"new_tokens":2)") != text.npos);
  }
  CHECK_THROWS_AS(Log((folder / "none/log").string(), false), IoError);
}

TEST_CASE("a log that nobody reads delays nobody") {
  const test::TempFolder folder;
  const std::string path = (folder / "pipe").string();
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  std::future<std::string> text;
  {
    Log log(path, false);
    const std::string line(1000, 'x');
    for (int i = 0; i < 5000; ++i) log.message("info", line);  // the pipe holds far less
    text = std::async(std::launch::async, [reader] {
      fcntl(reader, F_SETFL, 0);
      std::string all;
      char buffer[4096];
      for (ssize_t n = 0; (n = read(reader, buffer, sizeof buffer)) > 0;)
        all.append(static_cast<const char*>(buffer), static_cast<std::size_t>(n));
      return all;
    });
  }
  const std::string all = text.get();
  CHECK(all.find(" lines of the log were dropped\n") != all.npos);
  CHECK(std::ranges::count(all, '\n') < 5000);
  close(reader);
}

TEST_CASE("records of requests are read as they were written") {
  const test::TempFolder folder;
  RequestRecord t;
  t.version = "1.2";
  t.model = "m.gguf";
  t.flags = {"-c", "512"};
  t.method = "POST";
  t.path = "/v1/completions";
  t.body = "{\"prompt\": \"\xe2\x82\xac\\n\"}";
  t.seed = 0xfedcba9876543210;
  t.status = 200;
  t.answer = "data: {}\n\n";
  const std::string path = (folder / "t.json").string();
  write_record(path, t);
  const RequestRecord back = read_record(path);
  CHECK(back.flags == t.flags);
  CHECK(back.body == t.body);
  CHECK(back.seed == t.seed);
  CHECK(back.answer == t.answer);
  for (const char* text : {"", "{}", "[]", "{\"weft\": 1}", "{\"weft\": \"1\", \"model\": []}"}) {
    std::ofstream(folder / "wrong.json") << text;
    CHECK_THROWS_AS(read_record((folder / "wrong.json").string()), FormatError);
  }
  CHECK_THROWS_AS(read_record((folder / "none").string()), IoError);
}

// A pool of models without engines; `loads` lists the loaded models.
}  // namespace
}  // namespace weft::server
