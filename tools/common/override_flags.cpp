#include "common/override_flags.h"

#include <string>

#include "weft/base/error.h"
#include "weft/run/model_knobs.h"

#include "common/app.h"
#include "common/knob_flags.h"

namespace weft::cli {

void add_override_flag(App& app, std::vector<KeyOverride>& overrides) {
  const KnobText& text = described<ModelOptions>("overrides");
  const auto set = [&overrides, &text](const std::vector<std::string>& given) {
    try {
      for (const std::string& list : given) {
        const std::vector<KeyOverride> more = parse_key_overrides(list);
        overrides.insert(overrides.end(), more.begin(), more.end());
      }
    } catch (const ValueError& error) {
      reject_value(std::string(text.flags), error.what());
    }
  };
  app.add_option_function(std::string(text.flags), App::Function<std::vector<std::string>>(set),
                          help_text(text))
      .take_all()
      .allow_extra_args(false)
      .type_name(std::string(text.value));
}

void add_unknown_settings_flag(App& app, bool& allow) {
  add_value_flag(app, described<ModelOptions>("allow_unknown_settings"), {}, allow);
}

}  // namespace weft::cli
