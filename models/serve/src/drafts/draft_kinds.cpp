#include "drafts/draft_kinds.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/base/error.h"

#include "drafts/layer_draft.h"

namespace weft {
namespace serve {
namespace {

// The guesses of a draft model, which keeps what texts have in common.
class ModelDraft final : public Draft {
 public:
  explicit ModelDraft(std::shared_ptr<DraftModel> model) : model_(std::move(model)) {}
  void begin() override {}
  bool prepare(const DraftRequest& request) override { return model_->prepare(request); }
  void propose(const DraftRequest& request, std::vector<TokenId>& guesses) override {
    model_->propose(request, guesses);
  }

 private:
  std::shared_ptr<DraftModel> model_;
};

std::shared_ptr<Draft> by_model(const SharedDrafts& shared, std::shared_ptr<KeptTexts>) {
  return std::make_shared<ModelDraft>(shared.model);
}

std::shared_ptr<Draft> by_layer(const SharedDrafts& shared, std::shared_ptr<KeptTexts>) {
  return std::make_shared<LayerDraft>(shared.session, shared.options.p_min);
}

std::shared_ptr<Draft> by_look_up(const SharedDrafts& shared, std::shared_ptr<KeptTexts> kept) {
  return std::make_shared<LookupDraft>(shared.options.ngram_size, std::move(kept));
}

double cost_of_model(const Session&, const DraftModel* model) {
  return model->relative_cost();
}

double cost_of_layer(const Session& session, const DraftModel*) {
  const auto seconds = [&](std::size_t plan) { return double(session.plan(plan).predicted_ns); };
  return seconds(session.n_step_plans()) / std::max(seconds(0), 1.0);
}

double no_cost(const Session&, const DraftModel*) {
  return 0;
}

constexpr std::array kRows{
    DraftKindRow{DraftKind::model, "draft", "the model of -md", DraftNeeds::model, by_model,
                 cost_of_model},
    DraftKindRow{DraftKind::mtp, "draft-mtp", "the model's own layer for that", DraftNeeds::layer,
                 by_layer, cost_of_layer},
    DraftKindRow{DraftKind::eagle3, "draft-eagle3", "the head of -md", DraftNeeds::head, by_layer,
                 cost_of_layer},
    DraftKindRow{DraftKind::ngram_simple, "ngram-simple",
                 "what followed the last tokens when they occurred before", DraftNeeds::nothing,
                 by_look_up, no_cost}};

constexpr auto kKinds = [] {
  std::array<DraftKind, kRows.size()> kinds{};
  std::ranges::transform(kRows, kinds.begin(), &DraftKindRow::kind);
  return kinds;
}();

}  // namespace

const DraftKindRow& row_of(DraftKind kind) {
  return *std::ranges::find(kRows, kind, &DraftKindRow::kind);
}

}  // namespace serve

using namespace serve;

std::span<const DraftKind> draft_kinds() {
  return kKinds;
}

std::string_view to_string(DraftKind kind) {
  return row_of(kind).name;
}

DraftNeeds needs_of(DraftKind kind) {
  return row_of(kind).needs;
}

bool uses_draft_layer(DraftKind kind) {
  const DraftNeeds needs = needs_of(kind);
  return needs == DraftNeeds::layer || needs == DraftNeeds::head;
}

std::string_view meaning_of(DraftKind kind) {
  return row_of(kind).meaning;
}

DraftKind draft_kind(std::string_view name) {
  const auto found = std::ranges::find(kRows, name, &DraftKindRow::name);
  if (found != kRows.end()) return found->kind;
  std::string known;
  for (const DraftKindRow& row : kRows) known.append(known.empty() ? "" : ", ").append(row.name);
  fail<ValueError>("unknown kind of draft '{}'; known: {}", name, known);
}

std::vector<DraftKind> draft_kinds_in(std::string_view list) {
  std::vector<DraftKind> kinds;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string_view name = list.substr(at, end - at);
    if (name != "none") kinds.push_back(draft_kind(name == "draft-simple" ? "draft" : name));
    at = end + 1;
  }
  return kinds;
}

}  // namespace weft
