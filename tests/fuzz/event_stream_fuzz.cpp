// Sends arbitrary texts as pieces of an answer, and reads the stream as a client does: the texts
// must come back, with U+FFFD, once or more, in place of bytes that are not UTF-8. Bit 0 of the
// first byte chooses the form, bit 1 whether events have names; 0xff separates texts.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "weft/api/event_stream.h"
#include "weft/api/json_text.h"

namespace {

using weft::api::StreamForm;
using Texts = std::vector<std::string>;

Texts split(std::string_view bytes, char at) {
  Texts parts;
  for (std::size_t end = 0; end != bytes.npos;) {
    end = bytes.find(at);
    parts.emplace_back(bytes.substr(0, end));
    if (end != bytes.npos) bytes.remove_prefix(end + 1);
  }
  return parts;
}

// Lines end with CR LF, CR or LF (WHATWG, server-sent events, 9.2.6).
Texts lines_of(std::string_view stream) {
  std::string text;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    if (stream[i] == '\r' && i + 1 < stream.size() && stream[i + 1] == '\n') continue;
    text += stream[i] == '\r' ? '\n' : stream[i];
  }
  return split(text, '\n');
}

// The data of all events; aborts if there is anything else.
Texts data_of(std::string_view stream, bool named) {
  Texts all;
  std::string data, name;
  for (const std::string& line : lines_of(stream)) {
    if (line.starts_with("data: ")) {
      data += line.substr(6);
    } else if (line.starts_with("event: ")) {
      name = line.substr(7);
    } else if (!line.empty()) {
      std::abort();
    } else if (!data.empty()) {
      if (name != (named ? "piece" : "")) std::abort();
      all.push_back(std::move(data));
      data.clear(), name.clear();
    }
  }
  if (!data.empty()) std::abort();
  return all;
}

// As another decoder reads it.
std::string valid(const std::string& text) {
  using nlohmann::json;
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace))
      .get<std::string>();
}

// Decoders differ in how many U+FFFD stand for invalid bytes.
std::string one_for_each_run(std::string text) {
  constexpr std::string_view kTwo = "\xEF\xBF\xBD\xEF\xBF\xBD";
  for (std::size_t at = 0; (at = text.find(kTwo, at)) != text.npos;) text.erase(at, 3);
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool events = (data[0] & 1) == 0, named = events && (data[0] & 2) != 0;
  const Texts texts = split({reinterpret_cast<const char*>(data) + 1, size - 1}, '\xff');
  std::string stream;
  for (const std::string& text : texts)
    stream +=
        weft::api::piece_of(events ? StreamForm::events : StreamForm::lines,
                            weft::api::JsonObject().add("text", text).str(), named ? "piece" : "");
  Texts read = events ? data_of(stream, named) : split(stream, '\n');
  if (!events) read.pop_back();  // after the last line
  if (read.size() != texts.size()) std::abort();
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (one_for_each_run(nlohmann::json::parse(read[i])["text"].get<std::string>()) !=
        one_for_each_run(valid(texts[i])))
      std::abort();
  return 0;
}
