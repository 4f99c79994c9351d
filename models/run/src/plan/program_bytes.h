#pragma once
// What a program takes beside the memory of its sessions.

#include <cstdint>

#include "weft/run/session.h"

namespace weft::run {

// As options.program asks. Numbers of tokens, merges and nodes times what each was measured to take
// at most; tests/system/weights_test.py compares budgets with processes.
std::int64_t program_bytes(const Model& model, const PlannedModel& planned);

}  // namespace weft::run
