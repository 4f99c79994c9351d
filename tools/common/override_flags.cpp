#include "common/override_flags.h"

#include <string>

#include <CLI/CLI.hpp>

#include "weft/base/error.h"

namespace weft::cli {

void add_override_flag(CLI::App& app, std::vector<KeyOverride>& overrides) {
  app.add_option_function<std::vector<std::string>>(
         "--override-kv",
         [&overrides](const std::vector<std::string>& texts) {
           try {
             for (const std::string& text : texts) {
               const std::vector<KeyOverride> more = parse_key_overrides(text);
               overrides.insert(overrides.end(), more.begin(), more.end());
             }
           } catch (const ValueError& error) {
             throw CLI::ValidationError("--override-kv", error.what());
           }
         },
         "value of a key of the model, instead of the file's: KEY=TYPE:VALUE, TYPE int, float, "
         "bool or str; several with commas; may be repeated")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->type_name("KEY=TYPE:VALUE");
}

}  // namespace weft::cli
