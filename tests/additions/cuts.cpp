#include "cuts.h"

#include "session/sequence_parties.h"

namespace weft::run {

std::unique_ptr<PerSequence> make_cuts(const SessionParts& parts) {
  return std::make_unique<Cuts>(parts.planned.options.sequences);
}

}  // namespace weft::run
