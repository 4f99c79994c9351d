#include "model_sources.h"

#include <string>
#include <utility>

#include "weft/hosting/model_files.h"
#include "weft/hosting/models_file.h"

namespace weft::server {

std::vector<HostedModel> sources_of(const Flags& flags,
                                    const std::function<void(std::string_view)>& warn) {
  if (!flags.models_dir.empty()) return models_below(flags.models_dir, warn);
  if (!flags.models_file.empty()) return models_in_file(flags.models_file);
  std::vector<std::string> names = flags.aliases;
  if (names.empty()) names.push_back(stem_of(flags.model.path));
  return {{flags.model.path, std::move(names)}};
}

Flags with_settings(Flags flags, const HostedModel& source) {
  if (source.context) flags.model.session.context = *source.context;
  if (source.slots) flags.slots = *source.slots;
  if (source.slots) flags.slots_given = true;
  return flags;
}

}  // namespace weft::server
