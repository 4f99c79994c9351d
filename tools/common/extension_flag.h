#pragma once

#include "common/app.h"

namespace weft::cli {

// --extension: loads ops and architectures when the flags are parsed.
void add_extension_flag(App& app);

}  // namespace weft::cli
