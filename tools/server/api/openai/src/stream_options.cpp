#include "stream_options.h"

namespace weft::api {

Form<StreamOptions> stream_options_form() {
  static const auto table =
      Fields<StreamOptions>()
          .add("include_usage", &StreamOptions::include_usage, boolean(),
               "Send a last chunk with the usage.")
          .refused("continuous_usage_stats", {"false"}, "usage comes in the last chunk only");
  return object(table);
}

}  // namespace weft::api
