#pragma once
// The field stream_options of OpenAI's chat completions and completions.

#include "weft/api/forms.h"

namespace weft::api {

struct StreamOptions {
  bool include_usage = false;
};

Form<StreamOptions> stream_options_form();

}  // namespace weft::api
