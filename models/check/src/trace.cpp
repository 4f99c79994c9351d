#include "weft/check/trace.h"

#include <algorithm>
#include <charconv>
#include <exception>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/checksum.h"
#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"

#include "borders.h"
#include "capture.h"

namespace weft {
namespace {

using namespace checks;

constexpr std::string_view kFormat = "weft-trace-1";

std::string spec_of(const View& view) {
  std::string dims;
  for (int i = 0; i < view.n_dims; ++i) dims += fmt::format("{}{}", i ? ", " : "", view.dim(i));
  return fmt::format("{} [{}]", view.dtype.name(), dims);
}

class Hasher final : public NodeObserver {
 public:
  void before(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override {}
  void after(const PlanStep& step, int, const KernelArgs& args, const Region&) noexcept override {
    if (failure) return;
    try {
      nodes.push_back({.path = step.path,
                       .op = step.op,
                       .kernel = step.kernel,
                       .spec = spec_of(args.out),
                       .hash = hash(args.out)});
    } catch (...) {
      failure = std::current_exception();
    }
  }

  std::vector<TracedNode> nodes;
  std::exception_ptr failure;

 private:
  static std::uint64_t hash(const View& view) {
    Checksum sum;
    const auto n_bytes = static_cast<std::size_t>(view.dtype.bytes(view.cols()));
    for (std::int64_t r = 0; r < view.rows(); ++r) sum.add({view.row<std::byte>(r), n_bytes});
    return sum.value();
  }
};

// Throws for the first difference between two steps other than in hashes or kernels.
void check_same_graph(std::size_t i, const TracedStep& a, const TracedStep& b) {
  const auto refuse = [&](std::string_view what, const auto& x, const auto& y) {
    fail<ValueError>("the traces are of different runs: step {} has {} {} in one, {} in the other",
                     i, what, x, y);
  };
  if (a.tokens != b.tokens)
    refuse("tokens", fmt::format("[{}]", fmt::join(a.tokens, ",")),
           fmt::format("[{}]", fmt::join(b.tokens, ",")));
  for (std::size_t n = 0; n < std::min(a.nodes.size(), b.nodes.size()); ++n) {
    const TracedNode &x = a.nodes[n], &y = b.nodes[n];
    if (x.path != y.path) refuse("node", printable(x.path), printable(y.path));
    if (x.op != y.op)
      refuse(fmt::format("at '{}' op", printable(x.path)), printable(x.op), printable(y.op));
    if (x.spec != y.spec)
      refuse(fmt::format("at '{}'", printable(x.path)), printable(x.spec), printable(y.spec));
  }
  if (a.nodes.size() != b.nodes.size()) refuse("nodes:", a.nodes.size(), b.nodes.size());
}

}  // namespace

Trace trace_model(const std::shared_ptr<const Model>& model, const SessionOptions& options,
                  const std::vector<std::int32_t>& tokens, std::int64_t n_more) {
  if (tokens.empty()) fail<ValueError>("no tokens to run");
  SessionOptions o = options;
  o.workers = 1;
  if (o.context == 0) o.context = std::ssize(tokens) + n_more;
  Session session(model, o);
  checks::encode_in_all_sequences(session);
  Trace trace{.model = model->facts().name, .backend = routes_of(session.options()).description()};
  std::vector<std::int32_t> all = tokens;
  std::int32_t best = 0;
  const auto run = [&](std::size_t done, std::size_t n) {
    std::vector<StepToken> step;
    for (const std::int32_t token : std::span(all).subspan(done, n))
      step.push_back({.token = token});
    step.back().logits = true;
    Hasher hasher;
    const auto logits = session.step(step, nullptr, &hasher);
    if (hasher.failure) std::rethrow_exception(hasher.failure);
    best = static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
    trace.steps.push_back(
        {.plan = session.plan(session.plan_for(static_cast<std::int64_t>(n))).name,
         .tokens = {all.begin() + static_cast<std::ptrdiff_t>(done),
                    all.begin() + static_cast<std::ptrdiff_t>(done + n)},
         .nodes = std::move(hasher.nodes)});
  };
  std::size_t done = 0;
  for (const std::size_t n : steps_of(session, tokens.size())) {
    run(done, n);
    done += n;
  }
  for (std::int64_t i = 0; i < n_more; ++i) {
    all.push_back(best);
    run(done++, 1);
  }
  return trace;
}

std::string Trace::to_json() const {
  nlohmann::ordered_json json{{"format", kFormat}, {"model", model}, {"backend", backend}};
  auto& out = json["steps"] = nlohmann::ordered_json::array();
  for (const TracedStep& step : steps) {
    auto nodes_json = nlohmann::ordered_json::array();
    for (const TracedNode& n : step.nodes)
      nodes_json.push_back({n.path, n.op, n.kernel, n.spec, fmt::format("{:016x}", n.hash)});
    out.push_back({{"plan", step.plan}, {"tokens", step.tokens}, {"nodes", std::move(nodes_json)}});
  }
  // Names come from files: bytes that are not UTF-8 are replaced.
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Trace Trace::parse(const std::string& text, const std::string& name) {
  Trace trace;
  const auto broken = [&](std::string_view what) {
    fail<FormatError>("{}: not a trace of weft trace: {}", printable_path(name), what);
  };
  const auto parsed = nlohmann::json::parse(text, nullptr, false);
  if (parsed.is_discarded()) broken("it is not JSON");
  try {
    if (parsed.at("format") != kFormat) broken("its format has another name");
    trace.model = parsed.at("model");
    trace.backend = parsed.at("backend");
    for (const auto& step : parsed.at("steps")) {
      TracedStep& s = trace.steps.emplace_back();
      s.plan = step.at("plan");
      s.tokens = step.at("tokens").get<std::vector<std::int32_t>>();
      for (const auto& node : step.at("nodes")) {
        TracedNode& n = s.nodes.emplace_back();
        n = {.path = node.at(0), .op = node.at(1), .kernel = node.at(2), .spec = node.at(3)};
        const std::string digits = node.at(4);
        const char* end = digits.data() + digits.size();
        const auto [stop, error] = std::from_chars(digits.data(), end, n.hash, 16);
        if (error != std::errc() || stop != end || digits.size() != 16)
          broken(fmt::format("the hash of '{}' is not 16 hexadecimal digits", printable(n.path)));
      }
    }
  } catch (const nlohmann::json::exception& e) {
    broken(printable(e.what()));
  }
  return trace;
}

TraceDifference compare(const Trace& a, const Trace& b) {
  TraceDifference found;
  // Different tokens of greedy decoding may result from a difference, so compare hashes first.
  const std::size_t n = std::min(a.steps.size(), b.steps.size());
  for (std::size_t i = 0; i < n; ++i) {
    if (found.differs && a.steps[i].tokens != b.steps[i].tokens) return found;
    check_same_graph(i, a.steps[i], b.steps[i]);
    for (std::size_t k = 0; k < a.steps[i].nodes.size(); ++k) {
      ++found.n_compared;
      if (a.steps[i].nodes[k].hash == b.steps[i].nodes[k].hash) continue;
      if (!found.differs) {
        found.step = i;
        found.path = a.steps[i].nodes[k].path;
        found.node = k;
      }
      found.differs = true;
      ++found.n_nodes;
    }
  }
  if (a.steps.size() != b.steps.size())
    fail<ValueError>("the traces are of different runs: {} steps in one, {} in the other",
                     a.steps.size(), b.steps.size());
  return found;
}

std::string TraceDifference::to_text(const Trace& a, const Trace& b) const {
  if (!differs) return fmt::format("no difference: {} nodes have the same hash\n", n_compared);
  const TracedNode& x = a.steps.at(step).nodes.at(node);
  const TracedNode& y = b.steps.at(step).nodes.at(node);
  return fmt::format(
      "the first node that differs: {} '{}' in step {} ({}), {}\n  {:016x} by {} ({})\n  {:016x} "
      "by "
      "{} ({})\n{} of {} nodes differ\n",
      printable(x.op), printable(path), step, printable(a.steps[step].plan), printable(x.spec),
      x.hash, printable(x.kernel), printable(a.backend), y.hash, printable(y.kernel),
      printable(b.backend), n_nodes, n_compared);
}

}  // namespace weft
