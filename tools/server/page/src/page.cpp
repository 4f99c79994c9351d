#include "weft/page/page.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/api/errors.h"
#include "weft/api/query.h"
#include "weft/hosting/model_pool.h"
#include "weft/hosting/operations.h"

#include "page_state.h"

namespace weft::server {
namespace {

constexpr std::string_view kFolder = "/ui/page/";
// Nothing but the page's own files; pictures that it made itself.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
constexpr const char* kDataPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";

std::string_view type_of(std::string_view name) {
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  return "text/html; charset=utf-8";
}

http::Reply file_reply(std::string_view name) {
  const auto files = page_files();
  const auto file = std::ranges::find(files, name, &PageFile::name);
  if (file == files.end()) throw api::not_found(fmt::format("no file {}", name));
  http::Reply reply;
  reply.body = file->content;
  reply.content_type = type_of(name);
  reply.headers = {{"Content-Security-Policy", kPolicy},
                   {"X-Frame-Options", "DENY"},
                   {"Referrer-Policy", "no-referrer"},
                   {"Cache-Control", "no-cache"}};
  return reply;
}

// Answers that are not pages: pictures may have styles, and nothing may run.
http::Reply text_reply(std::string body, std::string type) {
  http::Reply reply;
  reply.body = std::move(body);
  reply.content_type = std::move(type);
  reply.headers = {{"Content-Security-Policy", kDataPolicy}, {"Referrer-Policy", "no-referrer"}};
  return reply;
}

std::shared_ptr<const api::ServedModel> loaded_model(const ModelPool& pool,
                                                     const std::string& name) {
  for (PooledModel& model : pool.loaded())
    if (name.empty() || model.name == name) return std::move(model.served);
  throw api::not_found(name.empty() ? "no model is loaded"
                                    : fmt::format("the model '{}' is not loaded", name));
}

// Pictures take time: they are drawn on a preparing thread, from the engine's graphs and plans.
using Draw = std::function<std::string(const Model&, const SessionOptions&)>;
api::Endpoint picture_endpoint(const Operations& operations, const char* what, const char* summary,
                               const char* type, Draw draw) {
  api::Endpoint endpoint = api::plain_endpoint(
      "GET", fmt::format("/ui/{}", what), fmt::format("ui_{}", what), summary,
      [&operations, type, draw = std::move(draw)](const std::shared_ptr<api::ApiCall>& call) {
        const auto served =
            loaded_model(operations.pool, api::query_value(call->request(), "model"));
        SessionOptions options = served->engine->session_options();
        options.progress = {};
        call->exchange->reply(text_reply(draw(*served->model, options), type));
      });
  endpoint.answer_type = type;
  return endpoint;
}

}  // namespace

const std::vector<std::string>& page_paths() {
  static const auto paths = [] {
    std::vector<std::string> made;
    for (const PageFile& file : page_files())
      made.push_back(fmt::format("{}{}", kFolder, file.name));
    return made;
  }();
  return paths;
}

std::vector<api::Endpoint> page_endpoints(const Operations& operations, bool show_page,
                                          const DrawPlan& draw_plan) {
  std::vector<api::Endpoint> endpoints;
  endpoints.push_back(api::plain_endpoint(
      "GET", "/", "page", "A page for chats",
      [show_page](const std::shared_ptr<api::ApiCall>& call) {
        call->exchange->reply(show_page ? file_reply("index.html")
                                        : text_reply("weft serve is running\n", "text/plain"));
      }));
  endpoints.back().answer_type = show_page ? "text/html" : "text/plain";
  endpoints.back().quick = true;
  if (!show_page) return endpoints;
  endpoints.push_back(api::plain_endpoint("GET", "/ui/page/{file}", "page_file",
                                          "A file of the page",
                                          [](const std::shared_ptr<api::ApiCall>& call) {
                                            call->exchange->reply(file_reply(call->parameter));
                                          }));
  endpoints.back().answer_type = "text/plain";
  endpoints.back().quick = true;
  endpoints.push_back(
      api::plain_endpoint("GET", "/ui/state", "ui_state", "State of the server that the page shows",
                          [&operations](const std::shared_ptr<api::ApiCall>& call) {
                            call->exchange->reply(text_reply(state_json(operations, call->owner()),
                                                             "application/json"));
                          }));
  endpoints.push_back(picture_endpoint(operations, "graph",
                                       "The graph of a loaded model as boxes and edges",
                                       "application/json", graph_json));
  if (draw_plan) {
    endpoints.push_back(picture_endpoint(operations, "plan",
                                         "The memory plan of a loaded model as SVG",
                                         "image/svg+xml", draw_plan));
  }
  return endpoints;
}

}  // namespace weft::server
