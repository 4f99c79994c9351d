#include "weft/api/errors.h"

#include <filesystem>
#include <new>
#include <utility>

#include "weft/base/json_string.h"
#include "weft/chat/place_error.h"
#include "weft/serve/engine.h"

namespace weft::api {
namespace {

constexpr const char* kInvalid = "invalid_request_error";

// Anthropic's types of errors, by status.
std::string_view anthropic_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
    case 529:
      return "overloaded_error";
    default:
      return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

std::string or_null(const std::string& text) {
  return text.empty() ? "null" : json_string(text);
}

ApiError with_retry(ApiError error, int seconds) {
  error.retry_after = seconds;
  return error;
}

}  // namespace

ApiError bad_request(std::string param, std::string_view problem) {
  const std::string message =
      param.empty() ? std::string(problem) : fmt::format("{}: {}", param, problem);
  return {400, kInvalid, message, std::move(param)};
}

ApiError not_found(const std::string& message) {
  return {404, "not_found_error", message};
}

ApiError model_not_found(std::string_view name) {
  return {404, kInvalid,
          fmt::format("model: {} is not served here", json_string(name.substr(0, 200))), "model",
          "model_not_found"};
}

ApiError context_exceeded(std::string param, std::int64_t n_prompt, std::int64_t context) {
  return {400, kInvalid,
          fmt::format("{}: the prompt has {} tokens, but the context has {} for prompt and answer "
                      "(maximum context length)",
                      param, n_prompt, context),
          std::move(param), "context_length_exceeded"};
}

ApiError not_supported(const std::string& message) {
  return {501, "not_supported_error", message};
}

ApiError unavailable(const std::string& message, std::string code) {
  return with_retry({503, "unavailable_error", message, {}, std::move(code)}, 2);
}

ApiError as_api_error(std::exception_ptr error, std::string param) {
  try {
    std::rethrow_exception(std::move(error));
  } catch (const ApiError& e) {
    return e;
  } catch (const PlaceError& e) {
    return bad_request(e.place(), e.problem());
  } catch (const QueueFullError& e) {
    return with_retry({429, "rate_limit_error", e.what(), {}, "queue_full"}, 1);
  } catch (const SlotOwnerError& e) {
    return {403, "permission_error", e.what(), {}, "slot_owner"};
  } catch (const LedgerError& e) {
    return unavailable(e.what(), "budget");
  } catch (const BudgetError& e) {
    // A grammar that is too large is the request's fault; memory for sequences is not.
    if (!param.empty()) return bad_request(std::move(param), e.what());
    return unavailable(e.what(), "budget");
  } catch (const CancelledError& e) {
    return unavailable(e.what(), "cancelled");
  } catch (const ValueError& e) {
    return bad_request(std::move(param), e.what());
  } catch (const FormatError& e) {
    return bad_request(std::move(param), e.what());
  } catch (const UnsupportedError& e) {
    return bad_request(std::move(param), e.what());
  } catch (const std::bad_alloc&) {
    return unavailable("not enough memory for this request", "budget");
  } catch (const std::exception& e) {
    return {500, "server_error", e.what()};
  } catch (...) {
    return {500, "server_error", "unknown error"};
  }
}

std::exception_ptr load_error(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const FormatError& e) {
    return std::make_exception_ptr(ApiError(500, "server_error", e.what()));
  } catch (const UnsupportedError& e) {
    return std::make_exception_ptr(ApiError(500, "server_error", e.what()));
  } catch (...) {
  }
  return error;
}

ApiError with_replaced(const ApiError& error, std::string_view from, std::string_view to) {
  std::string message = error.what();
  for (std::size_t at = 0; !from.empty() && (at = message.find(from, at)) != message.npos;) {
    message.replace(at, from.size(), to);
    at += to.size();
  }
  ApiError shown(error.status, error.type, message, error.param, error.code);
  shown.retry_after = error.retry_after;
  return shown;
}

ApiError without_folder(const ApiError& error, std::string_view folder) {
  return with_replaced(error, folder.empty() ? "" : (std::filesystem::path(folder) / "").string(),
                       "");
}

ErrorForm error_form(std::string_view path) {
  if (path == "/v1/messages" || path.starts_with("/v1/messages/")) return ErrorForm::anthropic;
  if (path.starts_with("/api/")) return ErrorForm::ollama;
  return ErrorForm::openai;
}

bool wants_anthropic_form(const http::RequestHead& head) {
  return !http::find_header(head.headers, "anthropic-version").empty();
}

ErrorForm error_form(const http::RequestHead& head) {
  const bool shared = head.path == "/v1/models" || head.path.starts_with("/v1/models/");
  return shared && wants_anthropic_form(head) ? ErrorForm::anthropic : error_form(head.path);
}

std::string error_body(const ApiError& error, ErrorForm form) {
  const std::string message = json_string(error.what());
  switch (form) {
    case ErrorForm::anthropic:
      return fmt::format(R"({{"type":"error","error":{{"type":{},"message":{}}}}})",
                         json_string(anthropic_type(error.status)), message);
    case ErrorForm::ollama:
      return fmt::format(R"({{"error":{}}})", message);
    case ErrorForm::openai:
      break;
  }
  return fmt::format(R"({{"error":{{"message":{},"type":{},"param":{},"code":{}}}}})", message,
                     json_string(error.type), or_null(error.param), or_null(error.code));
}

http::Reply error_reply(const ApiError& error, ErrorForm form) {
  http::Reply reply{.status = error.status, .body = error_body(error, form)};
  if (error.retry_after)
    reply.headers.emplace_back("Retry-After", std::to_string(*error.retry_after));
  return reply;
}

http::Reply refusal_reply(const http::RequestHead& head, const http::Refusal& refusal) {
  const ApiError error(refusal.status, refusal.type, refusal.message, "", refusal.code);
  return error_reply(error, error_form(head));
}

}  // namespace weft::api
