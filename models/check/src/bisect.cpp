#include "weft/check/bisect.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "weft/base/error.h"
#include "weft/check/verify_model.h"
#include "weft/run/nan_error.h"
#include "weft/scheduler/passes.h"
#include "weft/scheduler/routing.h"

#include "borders.h"
#include "capture.h"

namespace weft {
namespace {

using namespace checks;

constexpr double kRoundingLimit = 1e-2, kKernelLimit = 1e-9;

using Paths = std::set<std::string, std::less<>>;

// The suspect backend, with some nodes computed by another backend.
class MixedBackend final : public Backend {
 public:
  MixedBackend(const Routes& suspect, const Backend& other, const Paths& nodes)
      : suspect_(suspect), other_(other), nodes_(nodes) {}
  std::string_view name() const override { return suspect_.name(); }
  std::string description() const override { return suspect_.description(); }
  std::optional<Kernel> find(const Graph& graph, const Node& node) const override {
    return nodes_.contains(node.path) ? other_.find(graph, node) : suspect_.find(graph, node);
  }
  std::span<const Pass> lowering() const override { return suspect_.lowering_backend().lowering(); }
  std::span<const Pass> resident_lowering() const override {
    return suspect_.lowering_backend().resident_lowering();
  }

 private:
  const Routes& suspect_;
  const Backend& other_;
  const Paths& nodes_;
};

class Search {
 public:
  Search(const std::shared_ptr<const Model>& model, const BisectOptions& options)
      : model_(model),
        options_(options),
        suspect_(routes_of(options.session)),
        first_(model, base()) {
    if (!first_.plan(0).devices.empty()) {
      fail<UnsupportedError>(
          "bisect can only switch kernels in host memory, but --route uses a device of backend {}",
          suspect_.name());
    }
    for (std::size_t i = 0; i < first_.n_plans(); ++i) {
      for (const PlanStep& step : first_.plan(i).steps) {
        rows_[step.kernel].insert(step.path);
        if (!order_.contains(step.path)) {
          order_.emplace(step.path, static_cast<std::int64_t>(order_.size()));
          where_[step.path] = to_string(first_.graph(i)[step.node].where);
        }
      }
    }
  }

  Bisection run();

 private:
  using Logits = std::vector<float>;

  SessionOptions base() const {
    SessionOptions o = options_.session;
    o.workers = 1;
    if (o.context == 0) o.context = std::ssize(options_.tokens);
    o.logits_rows = std::min<std::int64_t>(o.prefill_width, std::ssize(options_.tokens));
    return o;
  }
  Logits logits(const SessionOptions& o);
  double measure(const std::string& what, const Logits& got, const Logits& want);
  Logits by_definitions(const std::vector<std::string>& off);
  double trial(const std::string& what, const Backend& other, const Paths& nodes,
               bool from_file = false);
  std::vector<std::string> rounding_passes() const;
  bool is_wrong(const std::string& what, const std::vector<std::string>& without,
                const Logits& plain, double limit);
  bool find_pass(const Logits& plain);
  void name_passes(const std::vector<std::string>& suspects, std::vector<std::string> off,
                   const Logits& plain);
  void find_kernel();
  void narrow_rows(std::vector<std::string> culprits);
  void find_first_node(const Paths& nodes);
  void try_other_isas(const Paths& nodes);
  Paths nodes_of(const std::vector<std::string>& rows) const;

  std::shared_ptr<const Model> model_;
  const BisectOptions& options_;
  const Routes suspect_;
  Session first_;                              // keeps resident weights alive between trials
  std::map<std::string, Paths> rows_;          // nodes by kernel row
  std::map<std::string, std::int64_t> order_;  // positions of nodes, by path
  std::map<std::string, std::string> where_;
  Logits want_;  // from the definitions of the same nodes
  Bisection result_;
};

Search::Logits Search::logits(const SessionOptions& o) {
  ++result_.trials;
  Session session(model_, o);
  encode_in_all_sequences(session);
  const auto steps = steps_of(session, options_.tokens.size());
  try {
    return all_logits(session, 0, options_.tokens, steps);
  } catch (const NanError&) {  // counts as a wrong result, unlike other errors
    return {};
  }
}

double Search::measure(const std::string& what, const Logits& got, const Logits& want) {
  const double error =
      got.size() == want.size() ? nmse(got, want) : std::numeric_limits<double>::infinity();
  if (options_.progress)
    options_.progress(fmt::format("{:<48} normalized squared error {:.3g}", what, error));
  return error;
}

Search::Logits Search::by_definitions(const std::vector<std::string>& off) {
  SessionOptions o = base();
  o.passes_off = off;
  // The suspect's passes with the reference backend's kernels.
  class Definitions final : public Backend {
   public:
    explicit Definitions(const Backend& passes) : passes_(passes) {}
    std::string_view name() const override { return passes_.name(); }
    std::string description() const override { return "definitions"; }
    std::optional<Kernel> find(const Graph& graph, const Node& node) const override {
      return reference_backend().find(graph, node);
    }
    std::span<const Pass> lowering() const override { return passes_.lowering(); }
    std::span<const Pass> resident_lowering() const override { return passes_.resident_lowering(); }

   private:
    const Backend& passes_;
  } lowered(suspect_.lowering_backend());
  o.backend_instance = &lowered;
  return logits(o);
}

double Search::trial(const std::string& what, const Backend& other, const Paths& nodes,
                     bool from_file) {
  const MixedBackend mixed(suspect_, other, nodes);
  SessionOptions o = base();
  if (from_file) o.weights = WeightMode::mapped;
  o.backend_instance = &mixed;
  return measure(what, logits(o), want_);
}

std::vector<std::string> Search::rounding_passes() const {
  std::vector<std::string> names;
  for (const Pass& pass : fusion_passes()) {
    if (pass.rounds) names.emplace_back(pass.name);
  }
  for (const auto passes :
       {suspect_.lowering_backend().lowering(), suspect_.lowering_backend().resident_lowering()}) {
    for (const Pass& pass : passes) names.emplace_back(pass.name);
  }
  return names;
}

bool Search::is_wrong(const std::string& what, const std::vector<std::string>& without,
                      const Logits& plain, double limit) {
  result_.nmse_without = measure(what, by_definitions(without), plain);
  return !(result_.nmse_without <= limit);
}

// With definitions as kernels, only passes can make a difference.
bool Search::find_pass(const Logits& plain) {
  const std::vector<std::string>& off = options_.session.passes_off;
  want_ = by_definitions(off);
  const double with_all = measure("all passes, definitions as kernels", want_, plain);
  // Rewrites must agree except for the order of sums; lowerings and some others round.
  const std::vector<std::string> rounding = rounding_passes();
  const auto limit_of = [&](double automatic) {
    return options_.max_nmse > 0 ? options_.max_nmse : automatic;
  };
  std::vector<std::string> rewrites_only = off;
  rewrites_only.insert(rewrites_only.end(), rounding.begin(), rounding.end());
  double limit = limit_of(kRewriteLimit);
  const bool rewrites = is_wrong("without lowering", rewrites_only, plain, limit);
  if (!rewrites) {
    limit = limit_of(kRoundingLimit);
    if (with_all <= limit) {
      // Sums that differ in the last bit may round a code of 8 bits the other way, and a single
      // code can be a large part of the error of all.
      result_.limit = limit_of(std::max(kKernelLimit, with_all));
      return false;
    }
  }
  result_.culprit = Bisection::Culprit::pass;
  result_.nmse = rewrites ? result_.nmse_without : with_all;
  result_.limit = limit;
  std::vector<std::string> suspects = rounding;
  if (rewrites) {
    suspects.clear();
    for (const Pass& pass : fusion_passes()) {
      if (!pass.rounds) suspects.emplace_back(pass.name);
    }
  }
  name_passes(suspects, rewrites ? rewrites_only : off, plain);
  return true;
}

// Finds those of `suspects` without which, and without `off`, the logits are right.
void Search::name_passes(const std::vector<std::string>& suspects, std::vector<std::string> off,
                         const Logits& plain) {
  for (const std::string& pass : suspects) {
    std::vector<std::string> one = off;
    one.push_back(pass);
    if (is_wrong("without " + pass, one, plain, result_.limit)) continue;
    result_.passes = {pass};
    return;
  }
  for (const std::string& pass : suspects) {  // one more each time
    off.push_back(pass);
    result_.passes.push_back(pass);
    if (!is_wrong("also without " + pass, off, plain, result_.limit)) return;
  }
  fail<ValueError>("switching passes off does not make the logits right");
}

Paths Search::nodes_of(const std::vector<std::string>& rows) const {
  Paths nodes;
  for (const std::string& row : rows) nodes.insert(rows_.at(row).begin(), rows_.at(row).end());
  return nodes;
}

void Search::find_kernel() {
  for (const auto& [row, nodes] : rows_) {
    result_.nmse_without = trial("without " + row, reference_backend(), nodes);
    if (result_.nmse_without <= result_.limit) return narrow_rows({row});
  }
  std::vector<std::string> culprits;  // several: one more each time
  for (const auto& [row, nodes] : rows_) {
    culprits.push_back(row);
    result_.nmse_without = trial("also without " + row, reference_backend(), nodes_of(culprits));
    if (result_.nmse_without <= result_.limit) return narrow_rows(culprits);
  }
  fail<ValueError>("replacing kernels does not make the logits right");
}

// Removes rows that are not culprits, then examines the nodes.
void Search::narrow_rows(std::vector<std::string> culprits) {
  for (std::size_t i = 0; culprits.size() > 1 && i < culprits.size();) {
    std::vector<std::string> fewer = culprits;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    const double error =
        trial("with " + culprits[i] + " again", reference_backend(), nodes_of(fewer));
    if (error <= result_.limit) {
      culprits = fewer;
      result_.nmse_without = error;
    } else {
      ++i;
    }
  }
  result_.culprit = Bisection::Culprit::kernel;
  result_.rows = culprits;
  const Paths nodes = nodes_of(culprits);
  find_first_node(nodes);
  try_other_isas(nodes);
}

// Finds the first node in plan order with which the logits are wrong when it and all earlier nodes
// are computed by the suspect.
void Search::find_first_node(const Paths& nodes) {
  std::vector<std::string>& all = result_.nodes;
  all.assign(nodes.begin(), nodes.end());
  std::ranges::sort(all, {}, [&](const std::string& path) { return order_.at(path); });
  std::size_t right = 0, wrong = all.size();  // numbers of nodes computed by the suspect
  while (wrong - right > 1) {
    const std::size_t middle = (right + wrong) / 2;
    const Paths still(all.begin() + static_cast<std::ptrdiff_t>(middle), all.end());
    const double error = trial(fmt::format("with the first {} of {} nodes", middle, all.size()),
                               reference_backend(), still);
    (error <= result_.limit ? right : wrong) = middle;
  }
  result_.first_node = all[wrong - 1];
  result_.where = where_[result_.first_node];
}

void Search::try_other_isas(const Paths& nodes) {
  if (suspect_.name() != "cpu") return;
  for (const std::string_view isa : cpu_isas()) {
    const Backend& other = cpu_backend(isa);
    if (other.description() == suspect_.description()) continue;
    std::string verdict = "has no such kernel";
    // An instruction set may only have kernels for another layout of the weights.
    for (const bool from_file : {false, true}) {
      if (from_file && !model_->quantized_to().empty()) break;
      try {
        const double error = trial(fmt::format("by {}", isa), other, nodes, from_file);
        verdict = error <= result_.limit ? "right" : "wrong, too";
        if (from_file) verdict += " (from the file's layout)";
        break;
      } catch (const UnsupportedError&) {
      }
    }
    result_.others.push_back(fmt::format("{}: {}", isa, verdict));
  }
}

Bisection Search::run() {
  const Logits plain = by_definitions({"all"});
  if (plain.empty())
    fail<ValueError>(
        "{}: the plain graph by definitions gives NaN: the weights or the model's builder are "
        "wrong, not a kernel; weft verify names the first node",
        model_->file().path());
  if (find_pass(plain)) return std::move(result_);
  result_.nmse = measure("as it is", logits(base()), want_);
  if (!(result_.nmse <= result_.limit)) find_kernel();
  return std::move(result_);
}

std::string joined(const std::vector<std::string>& parts, std::size_t max_parts = 6) {
  std::string text;
  for (std::size_t i = 0; i < std::min(parts.size(), max_parts); ++i)
    text += (i ? ", " : "") + parts[i];
  if (parts.size() > max_parts) text += fmt::format(" and {} more", parts.size() - max_parts);
  return text;
}

}  // namespace

Bisection bisect(const std::shared_ptr<const Model>& model, const BisectOptions& options) {
  if (options.tokens.empty()) fail<ValueError>("no tokens to run");
  return Search(model, options).run();
}

std::string Bisection::to_text() const {
  const std::string numbers =
      fmt::format("normalized squared error of the logits {:.3g}, allowed {:.3g}", nmse, limit);
  if (culprit == Culprit::none)
    return fmt::format("nothing is wrong: {} ({} trials)\n", numbers, trials);
  std::string text =
      numbers + fmt::format("; without the culprit {:.3g} ({} trials)\n", nmse_without, trials);
  if (culprit == Culprit::pass) return text + fmt::format("culprit: pass {}\n", joined(passes));
  text += fmt::format("culprit: kernel {}, at {}\n", joined(rows), joined(nodes));
  text += fmt::format("first seen at '{}' ({})\n", first_node, where);
  if (!others.empty()) text += fmt::format("other instruction sets: {}\n", joined(others));
  return text;
}

}  // namespace weft
