#pragma once
// Additional contents of responses that clients may ask for.

#include <string>

#include "weft/api/forms.h"
#include "weft/http/exchange.h"

namespace weft::api::responses {

inline constexpr const char* kLogprobs = "message.output_text.logprobs";

// The name of a content. All but kLogprobs belong to items that answers here do not have.
Form<std::string> include_form();
// Throws ApiError 400 if the query of a request has other names: include=A&include[]=B.
void check_includes(const http::RequestHead& head);

}  // namespace weft::api::responses
