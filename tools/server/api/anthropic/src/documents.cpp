#include "documents.h"

#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

#include "weft/api/chat_fields.h"
#include "weft/api/errors.h"
#include "weft/api/interface_forms.h"
#include "weft/base/json_string.h"

namespace weft::api::anthropic {
namespace {

struct Source {
  std::string type;
  std::optional<std::string> data, content;
};

const Fields<Source>& source_fields() {
  static const auto table =
      Fields<Source>()
          .required("type", &Source::type, text(), "Type of the source: text or content.")
          .add("data", &Source::data, text(), "Text, of a source of type text.")
          .add("content", &Source::content, content_form(),
               "Text or parts, of a source of type content.");
  return table;
}

std::string source_text(Source source, const Path& path) {
  if (source.type == "text") {
    require(source.data, "data", path);
    return *std::move(source.data);
  }
  if (source.type == "content") {
    require(source.content, "content", path);
    return *std::move(source.content);
  }
  refuse(path.member("type"),
         fmt::format("documents of type {} are not supported: send their text in a source of type "
                     "text",
                     json_string(source.type.substr(0, 60))));
}

struct Citations {};

Form<Citations> citations_form() {
  static const auto table = Fields<Citations>().refused(
      "enabled", {"false"}, "answers have no citations: leave it out, or send false");
  return object(table);
}

struct Document {
  std::optional<std::string> title, context, source;
  Citations citations;
};

const Fields<Document>& document_fields() {
  static const auto table =
      Fields<Document>()
          .add("title", &Document::title, text(), "Title of the document.")
          .add("context", &Document::context, text(), "Facts about the document.")
          .add("citations", &Document::citations, citations_form(), "Citations of the document.")
          .required("source", &Document::source,
                    checked<std::string>(object(source_fields()), source_text),
                    "Text of the document.");
  return table;
}

struct SearchResult {
  std::optional<std::string> title, source, content;
  Citations citations;
};

const Fields<SearchResult>& search_result_fields() {
  static const auto table =
      Fields<SearchResult>()
          .add("title", &SearchResult::title, text(), "Title of the page.")
          .add("source", &SearchResult::source, text(), "Address of the page.")
          .add("citations", &SearchResult::citations, citations_form(), "Citations of the page.")
          .required("content", &SearchResult::content, content_form(), "Text of the page.");
  return table;
}

}  // namespace

bool is_document(std::string_view type) {
  return std::ranges::find(kDocuments, type) != std::end(kDocuments);
}

std::string document_text(const Json& block, const Path& path) {
  std::string all;
  const auto add = [&all](const std::optional<std::string>& part) {
    if (!part || part->empty()) return;
    if (!all.empty()) all += '\n';
    all += *part;
  };
  if (block.at("type") == "document") {
    const Document document = document_fields().read(block, {}, path);
    for (const auto* part : {&document.title, &document.context, &document.source}) add(*part);
  } else {
    const SearchResult result = search_result_fields().read(block, {}, path);
    for (const auto* part : {&result.title, &result.source, &result.content}) add(*part);
  }
  return all;
}

}  // namespace weft::api::anthropic
