#pragma once
// The one list of the kinds of drafts (DraftKind): a new kind adds its row in draft_kinds.cpp.

#include <memory>
#include <string_view>

#include "drafts/combined_draft.h"

namespace weft::serve {

struct DraftKindRow {
  DraftKind kind;
  std::string_view name;
  std::string_view meaning;  // for help texts
  DraftNeeds needs;
  // The draft of a text; `kept`: the texts that look-ups search.
  std::shared_ptr<Draft> (*make)(const SharedDrafts& shared, std::shared_ptr<KeptTexts> kept);
  // What a guess is expected to cost, as a share of a step of one token, until it was measured.
  // `model`: null unless the kind needs one.
  double (*cost)(const Session& session, const DraftModel* model);
};
const DraftKindRow& row_of(DraftKind kind);

}  // namespace weft::serve
