#include "weft/check/verify_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"
#include "weft/run/nan_error.h"
#include "weft/run/ranks.h"

#include "borders.h"
#include "capture.h"
#include "matrix_sample.h"

namespace weft {
namespace {

using namespace checks;

using Shape64 = std::vector<std::int64_t>;

std::string text_of(const Shape64& shape) {
  std::string text;
  for (const std::int64_t d : shape) text += fmt::format("{}{}", text.empty() ? "" : ", ", d);
  return '[' + text + ']';
}

Shape64 strip_ones(const Shape64& shape) {
  Shape64 rest;
  std::ranges::copy_if(shape, std::back_inserter(rest), [](std::int64_t d) { return d != 1; });
  return rest;
}

// The shape of a node over all tokens: a varying dimension has a row for each.
Shape64 full_shape(const Shape& shape, std::int64_t n_tokens) {
  Shape64 full;
  for (const Dim& d : shape) full.push_back(d.varies() ? n_tokens : d.bound);
  return full;
}

double distance(std::span<const float> got, std::span<const float> want) {
  return std::sqrt(nmse(got, want));
}

std::int64_t best(std::span<const float> row) {
  return std::ranges::max_element(row) - row.begin();
}

SessionOptions one_lane(const VerifyOptions& options, const BorderInputs& across) {
  SessionOptions o = options.session;
  o.workers = 1;
  if (o.context == 0)
    o.context = std::max<std::int64_t>(std::ssize(options.tokens), across.context);
  if (options.dump) o.logits_rows = std::max<std::int64_t>(o.prefill_width, 1);
  return o;
}

// The plain graph on the reference backend, with the weights of the file.
SessionOptions plain_options(const Model& model, SessionOptions o) {
  o.backend_instance = nullptr;
  o.backend = "reference";
  o.route.clear();
  o.passes_off = {"all"};
  o.weights = model.quantized_to().empty() ? WeightMode::mapped : WeightMode::automatic;
  return o;
}

// The bytes that Capture keeps of a step of n tokens.
std::int64_t kept_bytes(const Session& session, std::int64_t n) {
  const Graph& graph = session.graph(session.plan_for(n));
  std::int64_t total = 0;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].kind != NodeKind::op || graph[id].op->storage != Storage::fresh) continue;
    const Shape& shape = graph[id].spec.shape;
    const bool varies = shape.n_dims() > 0 && shape[0].varies() && shape[0].bound > 0;
    const std::int64_t each = varies ? shape.elems() / shape[0].bound : shape.elems();
    total += each * (varies ? std::min(n, shape[0].bound) : 1) * std::int64_t{sizeof(float)};
  }
  return total;
}

class ModelVerifier {
 public:
  ModelVerifier(const std::shared_ptr<const Model>& model, const VerifyOptions& options)
      : options_(options),
        across_(options.borders ? border_inputs(*model, options.session) : BorderInputs()),
        session_(model, one_lane(options, across_)) {
    const SessionOptions& resolved = session_.options();
    if (options.plain) {
      SessionOptions o = plain_options(*model, one_lane(options, {}));
      // The definitions read the pages of the file, which the system evicts.
      if (resolved.weights == WeightMode::streamed)
        o.mem_budget = std::numeric_limits<std::int64_t>::max();
      o.cache_k = resolved.cache_k;
      o.cache_v = resolved.cache_v;
      o.prefill_width = resolved.prefill_width;
      o.progress = {};
      plain_.emplace(model, o);
    }
    result_.backend = routes_of(resolved).description();
    result_.passes_off = resolved.passes_off;
    if (options.dump) check_dump();
    narrow();
  }

  ModelVerification run() {
    std::size_t done = 0;
    if (session_.model().facts().encodes) encode();
    for (const std::size_t n : steps()) {
      if (!step(done, n)) break;
      done += n;
    }
    if (power_plain_ > 0) result_.nmse_from_plain = error_plain_ / power_plain_;
    if (options_.borders && result_.stopped.empty())
      verify_across_borders(session_, across_, result_);
    return std::move(result_);
  }

 private:
  void encode();
  std::vector<std::size_t> steps() const {
    const std::size_t n = options_.tokens.size();
    return session_.model().facts().causal ? prefill_then_decode(n, width_) : std::vector{n};
  }
  bool step(std::size_t done, std::size_t n);
  std::int64_t max_in_sample() const {
    return options_.borders ? kMaxInSample : MatrixSample::kAll;
  }
  void compare(VerifyReport& report, const Graph& graph, std::size_t done, std::size_t n,
               const Capture& got);
  void compare_logits(std::span<const float> got, std::span<const float> want);
  void add_other_ranks(const std::string& plan);
  void check_dump();
  void narrow();
  const NamedTensor* in_dump(const std::string& path) const;

  const VerifyOptions& options_;
  BorderInputs across_;
  Session session_;
  std::optional<Session> plain_;
  Capture plain_values_;
  std::int64_t width_ = 1;  // max of steps
  ModelVerification result_;
  double error_plain_ = 0, power_plain_ = 0;
};

// Halves the width of steps until the values of their nodes fit into the remaining memory.
void ModelVerifier::narrow() {
  if (!session_.model().facts().causal) return;
  const SessionOptions& o = session_.options();
  std::int64_t left = o.mem_budget - session_.memory().total();
  if (plain_) left -= plain_->memory().total() - plain_->memory().weights_mapped;
  const auto kept = [&](std::int64_t n) {
    return kept_bytes(session_, n) + (plain_ ? kept_bytes(*plain_, n) : 0);
  };
  const std::int64_t widest =
      std::clamp<std::int64_t>(std::ssize(options_.tokens) - 1, 1, o.prefill_width);
  width_ = widest;
  while (width_ > 1 && kept(width_) > left) width_ /= 2;
  if (width_ == widest) return;
  result_.narrowed = fmt::format(
      "steps of at most {} tokens instead of {}, whose values would take {}: the memory budget "
      "leaves {}",
      width_, widest, human_bytes(kept(widest)), human_bytes(std::max<std::int64_t>(left, 0)));
}

const NamedTensor* ModelVerifier::in_dump(const std::string& path) const {
  if (!options_.dump) return nullptr;
  const auto it = options_.dump->find(path);
  return it == options_.dump->end() ? nullptr : &it->second;
}

void ModelVerifier::check_dump() {
  const Graph& graph = session_.graph(0);
  const auto n_tokens = std::ssize(options_.tokens);
  const auto logits = std::ranges::find(graph.outputs(), "logits", &Graph::Output::name);
  for (const auto& [name, tensor] : *options_.dump) {
    NodeId node = graph.find(name);
    if (node == kNoNode && name == "logits" && logits != graph.outputs().end()) node = logits->node;
    if (node == kNoNode || graph[node].kind != NodeKind::op) {
      result_.dump_unknown.push_back(name);
      continue;
    }
    const Shape64 want = full_shape(graph[node].spec.shape, n_tokens);
    Shape64 flat{want.empty() ? 1 : want.front(), 1};
    for (std::size_t i = 1; i < want.size(); ++i) flat[1] *= want[i];
    const Shape64 got = strip_ones(tensor.shape);
    if (got != strip_ones(want) && got != strip_ones(flat)) {
      fail<ShapeError>("dump: '{}' must be {}, as it has one row for each of the {} tokens, got {}",
                       printable(name), text_of(want), n_tokens, text_of(tensor.shape));
    }
    std::size_t n_values = 1;
    for (const std::int64_t d : tensor.shape) n_values *= static_cast<std::size_t>(d);
    if (n_values != tensor.values.size()) {
      fail<ShapeError>("dump: '{}' must have {} values, as it is {}, got {}", printable(name),
                       n_values, text_of(tensor.shape), tensor.values.size());
    }
    ++result_.dump_matched;
  }
  if (result_.dump_matched > 0) return;
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(result_.dump_unknown.size(), 3); ++i)
    names += fmt::format("{}'{}'", i ? ", " : "", printable(result_.dump_unknown[i]));
  fail<ValueError>(
      "dump: none of its {} names is a node of this graph ({}); weft dot shows the paths of nodes",
      result_.dump_unknown.size(), names.empty() ? "it is empty" : names + ", ...");
}

void ModelVerifier::compare(VerifyReport& report, const Graph& graph, std::size_t done,
                            std::size_t n, const Capture& got) {
  for (NodeCheck& check : report.nodes) {
    const Capture::Value* value = got.find(check.path);
    if (!value) continue;
    const Capture::Value* plain = plain_values_.find(check.path);
    if (plain && plain->rows == value->rows && plain->cols == value->cols)
      check.from_plain = distance(value->values, plain->values);
    const bool is_logits = check.node == graph.outputs().front().node;
    const NamedTensor* dumped = in_dump(check.path);
    if (!dumped && is_logits) dumped = in_dump("logits");
    if (!dumped) continue;
    // Rows of this step, if there is one per token.
    const Shape& shape = graph[check.node].spec.shape;
    const bool by_token = shape.n_dims() > 0 && shape[0].varies();
    const std::size_t size = value->values.size(), first = by_token ? size / n * done : 0;
    std::span<const float> all = dumped->values;
    // Plans of other widths may have other nodes of the same name.
    if (first > all.size() || size > all.size() - first || (!by_token && size != all.size())) {
      fail<ShapeError>("dump: '{}' has {} values, but plan '{}' makes {} from the {}th on",
                       printable(check.path), all.size(),
                       session_.plan(session_.plan_for(static_cast<std::int64_t>(n))).name, size,
                       first);
    }
    check.from_dump = distance(value->values, all.subspan(first, size));
    if (is_logits)
      result_.nmse_from_dump = std::max(result_.nmse_from_dump, std::pow(check.from_dump, 2));
  }
}

void ModelVerifier::compare_logits(std::span<const float> got, std::span<const float> want) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    error_plain_ += std::pow(double{got[i]} - double{want[i]}, 2);
    power_plain_ += std::pow(double{want[i]}, 2);
  }
  const auto width = static_cast<std::size_t>(session_.model().facts().n_vocab);
  for (std::size_t at = 0; at + width <= want.size(); at += width) {
    ++result_.logits_rows;
    result_.same_best += best(got.subspan(at, width)) == best(want.subspan(at, width));
  }
}

void ModelVerifier::add_other_ranks(const std::string& plan) {
  const std::span<const VerifyReport> reports = reports_of_ranks(session_);
  for (std::size_t i = 0; i < reports.size(); ++i)
    result_.steps.push_back(
        {.plan = fmt::format("{} on rank {}", plan, i + 1), .report = reports[i]});
}

// Verifies the nodes of the encoder, and gives all sequences a text.
void ModelVerifier::encode() {
  const std::vector<std::int32_t> text = text_for(session_);
  const std::size_t i = session_.plan_for(std::ssize(text), arch::GraphPart::encoder);
  Verifier verifier(session_.graph(i), session_.plan(i));
  MatrixSample sample(session_.graph(i), verifier, std::ssize(text), max_in_sample());
  session_.encode(0, text, nullptr, &sample);
  result_.steps.push_back({.plan = session_.plan(i).name,
                           .report = verifier.report(),
                           .every_projection = sample.every()});
  if (plain_) plain_->encode(0, text);
}

// Returns false if the logits are NaN, so that no step can follow.
bool ModelVerifier::step(std::size_t done, std::size_t n) {
  std::vector<StepToken> tokens;
  for (const std::int32_t token : std::span(options_.tokens).subspan(done, n))
    tokens.push_back({.token = token, .logits = options_.dump != nullptr});
  tokens.back().logits = true;
  const std::size_t i = session_.plan_for(static_cast<std::int64_t>(n));
  const Plan& plan = session_.plan(i);
  std::vector<float> want;
  plain_values_.clear();
  try {
    if (plain_) {
      const auto rows = plain_->step(tokens, nullptr, &plain_values_);
      want.assign(rows.begin(), rows.end());
      plain_values_.throw_failure();
    }
  } catch (const NanError& e) {  // caused by the file's numbers: the nodes are still compared
    result_.stopped = e.what();
    plain_.reset();
  }
  Verifier verifier(session_.graph(i), plan);
  MatrixSample sample(session_.graph(i), verifier, static_cast<std::int64_t>(n), max_in_sample());
  Capture got(&sample);
  bool more = result_.stopped.empty();
  try {
    const auto rows = session_.step(tokens, nullptr, &got);
    if (!want.empty()) compare_logits(rows, want);
  } catch (const CancelledError&) {
    throw;
  } catch (const Error& e) {
    if (!verifier.report().first_not_finite()) throw;
    result_.stopped = e.what();
    more = false;
  }
  got.throw_failure();
  result_.steps.push_back(
      {.plan = plan.name, .report = verifier.report(), .every_projection = sample.every()});
  compare(result_.steps.back().report, session_.graph(i), done, n, got);
  add_other_ranks(plan.name);
  return more;
}

}  // namespace

double nmse(std::span<const float> got, std::span<const float> want) {
  double error = 0, power = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error += std::pow(double{got[i]} - double{want[i]}, 2);
    power += std::pow(double{want[i]}, 2);
  }
  if (!std::isfinite(error) || !std::isfinite(power))
    return std::numeric_limits<double>::infinity();
  if (error == 0) return 0;
  return power > 0 ? error / power : std::numeric_limits<double>::infinity();
}

ModelVerification verify_model(const std::shared_ptr<const Model>& model,
                               const VerifyOptions& options) {
  if (options.tokens.empty()) fail<ValueError>("no tokens to run");
  return ModelVerifier(model, options).run();
}

}  // namespace weft
