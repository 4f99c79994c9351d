#include "common/override_flags.h"

#include <string>

#include "weft/base/error.h"

#include "common/app.h"

namespace weft::cli {

void add_override_flag(App& app, std::vector<KeyOverride>& overrides) {
  app.add_option_function(
         "--override-kv",
         [&overrides](const std::vector<std::string>& texts) {
           try {
             for (const std::string& text : texts) {
               const std::vector<KeyOverride> more = parse_key_overrides(text);
               overrides.insert(overrides.end(), more.begin(), more.end());
             }
           } catch (const ValueError& error) {
             reject_value("--override-kv", error.what());
           }
         },
         "value of a key of the model, instead of the file's: KEY=TYPE:VALUE, TYPE int, float, "
         "bool or str; several with commas; may be repeated")
      .take_all()
      .allow_extra_args(false)
      .type_name("KEY=TYPE:VALUE");
}

void add_unknown_settings_flag(App& app, bool& allow) {
  app.add_flag("--allow-unknown-settings", allow,
               "ignore settings in the config.json of a directory that Weft does not know");
}

}  // namespace weft::cli
