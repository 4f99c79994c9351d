#pragma once
// Which models the flags name, and with which settings.

#include <functional>
#include <string_view>
#include <vector>

#include "weft/hosting/hosted_model.h"
#include "weft/program/flags.h"

namespace weft::server {

// Throws like models_below() and models_in_file().
std::vector<HostedModel> sources_of(const Flags& flags,
                                    const std::function<void(std::string_view)>& warn);

// The flags with the settings of one of several models.
Flags with_settings(Flags flags, const HostedModel& source);

}  // namespace weft::server
