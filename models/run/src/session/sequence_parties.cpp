#include "session/sequence_parties.h"

namespace weft::run {

std::vector<std::unique_ptr<PerSequence>> make_sequence_parties(const SessionParts& parts) {
  std::vector<std::unique_ptr<PerSequence>> parties;
  for (MakeParty* make : kSequenceParties)
    if (auto party = make(parts)) parties.push_back(std::move(party));
  return parties;
}

}  // namespace weft::run
