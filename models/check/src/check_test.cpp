// Dumps, selftests and traces. The proof of single nodes has its own test.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "weft/arch/blocks.h"
#include "weft/base/error.h"
#include "weft/check/new_model.h"
#include "weft/check/selftest.h"
#include "weft/check/trace.h"
#include "weft/check/verify_model.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/rows/get_rows.h"

#include "capture.h"
#include "seeded.h"
#include "support/made_adapter.h"
#include "support/mixed_model.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace weft::test {
namespace {

using namespace checks;

const std::string kNode = "blk.1.ffn_residual";

std::shared_ptr<const Model> model() {
  static const auto one = tiny_model({.matrices = q8_0});
  return one;
}

// The values of the plain graph for all of kIds in one step.
Dump make_dump(const std::vector<std::string>& paths) {
  Session session(model(), {.context = 16,
                            .logits_rows = 16,
                            .workers = 1,
                            .backend = "reference",
                            .cache_k = f32,
                            .cache_v = f32,
                            .weights = WeightMode::mapped,
                            .passes_off = {"all"}});
  std::vector<StepToken> step;
  for (const std::int32_t id : kIds) step.push_back({.token = id, .logits = true});
  Capture capture;
  session.step(step, nullptr, &capture);
  Dump dump;
  for (const std::string& path : paths) {
    const Capture::Value& value = *capture.find(path);
    dump[path] = {{value.rows, value.cols}, value.values};
  }
  return dump;
}

ModelVerification verify_with(const Dump& dump) {
  return verify_model(
      model(),
      {.session = {.cache_k = f32, .cache_v = f32}, .tokens = kIds, .plain = false, .dump = &dump});
}

template <class E>
std::string text_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing was thrown";
}

const NodeCheck& node(const VerifiedStep& step, const std::string& path) {
  return *std::ranges::find(step.report.nodes, path, &NodeCheck::path);
}

const SelfCheck& check_of(const SelfReport& report, const std::string& name) {
  return *std::ranges::find(report.checks, name, &SelfCheck::name);
}

// Wrong if a step has several tokens.
void wide_steps_differ(const KernelArgs& args, const Region&) noexcept {
  args.op->reference(*args.attrs, args.in, args.out);
  if (args.out.rows() > 1) args.out.row<float>(0)[0] += 0.125f;
}
void makes_nan(const KernelArgs& args, const Region&) noexcept {
  args.op->reference(*args.attrs, args.in, args.out);
  args.out.row<float>(0)[3] = std::numeric_limits<float>::quiet_NaN();
}

}  // namespace

TEST_CASE("models with adapters are verified and pass their selftest") {
  const test::TempFolder folder;
  const std::string lora = (folder / "lora.gguf").string();
  const std::string vector = (folder / "vector.gguf").string();
  test::write_lora({.weights = {{"token_embd.weight", {50, 64}},
                                {"blk.0.attn_q.weight", {64, 64}},
                                {"blk.1.ffn_up.weight", {96, 64}}}},
                   lora);
  test::write_control_vector({}, vector);
  ModelOptions options;
  options.adapters = {
      .loras = {{lora, 0.5F}}, .control_vectors = {{vector, 1}}, .control_layers = {}};
  const auto model = tiny_model({.matrices = q8_0}, options);
  const ModelVerification result = verify_model(model, {.tokens = {1, 2, 3, 4, 5}});
  CHECK(result.passed());
  const VerifyReport& report = result.steps.front().report;
  const auto has = [&](const char* path) {
    return std::ranges::any_of(report.nodes,
                               [&](const NodeCheck& node) { return node.path == path; });
  };
  CHECK(has("blk.1.ffn_up.lora.0.sum"));
  CHECK(has("blk.1.controlled"));
  CHECK(selftest(model, {}).passed());
}

TEST_CASE("a dump of all tokens is a third column, cut by steps") {
  Dump dump = make_dump({kNode, "output"});
  dump["not.here"] = {{1}, {0}};
  ModelVerification result = verify_with(dump);
  INFO(result.to_text());
  CHECK(result.passed());
  CHECK(result.dump_matched == 2);
  CHECK(result.dump_unknown == std::vector<std::string>{"not.here"});
  REQUIRE(result.steps.size() == 2);
  for (const VerifiedStep& step : result.steps) {
    CHECK(node(step, kNode).from_dump >= 0);
    CHECK(node(step, kNode).from_dump < 0.05);  // activations of 8 bits here, floats there
    CHECK(node(step, "output").from_dump < 0.05);
    CHECK(node(step, "blk.0.attn").from_dump == -1);
  }
  CHECK(result.nmse_from_dump >= 0);

  // A dump whose last row is another one is far in the decode step alone.
  for (float& v : std::span(dump[kNode].values).last(64)) v += 3;
  result = verify_with(dump);
  CHECK(node(result.steps[0], kNode).from_dump < 0.05);
  CHECK(node(result.steps[1], kNode).from_dump > 0.5);
}

TEST_CASE("dumps that do not fit are rejected") {
  Dump dump = make_dump({kNode});
  dump[kNode].shape = {6, 64};
  dump[kNode].values.resize(6 * 64);
  CHECK(text_of<ShapeError>([&] { verify_with(dump); }) ==
        "dump: 'blk.1.ffn_residual' must be [7, 64], as it has one row for each of the 7 tokens, "
        "got [6, 64]");
  CHECK(text_of<ValueError>([&] {
          verify_with({{"a", {{1}, {0}}}});
        }).starts_with("dump: none of its 1 names is a node of this graph ('a'"));
  dump = make_dump({kNode});
  dump[kNode].values.pop_back();
  CHECK(text_of<ShapeError>([&] { verify_with(dump); }) ==
        "dump: 'blk.1.ffn_residual' must have 448 values, as it is [7, 64], got 447");
  // Dimensions of one and heads that are not apart do not matter.
  dump = make_dump({"blk.0.attn"});
  dump["blk.0.attn"].shape = {1, 7, 4, 16};
  CHECK(verify_with(dump).dump_matched == 1);
}

TEST_CASE("steps are as wide as memory for the values of their nodes allows") {
  SessionOptions options{.context = 16, .workers = 1, .weights = WeightMode::mapped};
  options.mem_budget = Session(model(), options).memory().total() + 4096;
  const ModelVerification result =
      verify_model(model(), {.session = options, .tokens = kIds, .plain = false});
  CHECK(result.passed());
  CHECK(result.steps.size() > 2);
  CHECK(result.to_text().find("\nsteps of at most ") != std::string::npos);
  CHECK(verify_with(make_dump({kNode})).narrowed.empty());
}

TEST_CASE("NaN is found in the first node that has it, and stops the run") {
  const Seeded wrong("blk.0.attn_norm", makes_nan);
  const ModelVerification result = verify_model(
      model(),
      {.session = {.backend_instance = &wrong, .weights = WeightMode::mapped}, .tokens = kIds});
  REQUIRE(result.steps.size() == 1);
  CHECK(result.steps[0].report.first_not_finite()->path == "blk.0.attn_norm");
  CHECK(result.first_bad()->path == "blk.0.attn_norm");
  CHECK(result.stopped.find("logits are NaN") != std::string::npos);
  CHECK(result.to_text().find("the first NaN or Inf: rms_norm_mul 'blk.0.attn_norm'") !=
        std::string::npos);
}

TEST_CASE("a correct model passes its selftest") {
  for (const std::string backend : {"cpu", "reference"}) {
    const SelfReport report = selftest(model(), {.session = {.backend = backend}});
    INFO(report.to_text());
    CHECK(report.passed());
    CHECK(report.checks.size() == 9);
    CHECK(check_of(report, "tokenizer").verdict == Verdict::skipped);
    CHECK(nlohmann::json::parse(report.to_json())["passed"] == true);
  }
}

TEST_CASE("a selftest sees steps that depend on their width") {
  const Seeded wrong(kNode, wide_steps_differ);
  const SelfReport report =
      selftest(model(), {.session = {.backend_instance = &wrong, .weights = WeightMode::mapped}});
  INFO(report.to_text());
  CHECK_FALSE(report.passed());
  CHECK(check_of(report, "prefill = decode").verdict == Verdict::failed);
  CHECK(check_of(report, "prefill = decode").detail.find("of position 0") != std::string::npos);
  CHECK(check_of(report, "chunks").verdict == Verdict::failed);
  CHECK(check_of(report, "batched = alone").verdict == Verdict::failed);
  CHECK(check_of(report, "NaN scan").verdict == Verdict::passed);
  CHECK(report.to_text().find("FAILED   prefill = decode") != std::string::npos);
}

TEST_CASE("a selftest sees NaN in nodes and damaged tensors") {
  const Seeded wrong("blk.1.attn_norm", makes_nan);
  SelfReport report =
      selftest(model(), {.session = {.backend_instance = &wrong, .weights = WeightMode::mapped}});
  CHECK(check_of(report, "prefill = decode").verdict == Verdict::failed);

  const auto damaged =
      tiny_model({.change = [](const std::string& name, std::vector<float>& values) {
        if (name == "blk.1.ffn_up.weight") values[70] = std::numeric_limits<float>::infinity();
      }});
  report = selftest(damaged, {});
  INFO(report.to_text());
  CHECK(check_of(report, "tensors").verdict == Verdict::failed);
  CHECK(check_of(report, "tensors")
            .detail.find("'blk.1.ffn_up.weight' has 1 NaN or Inf, the first at element 70") !=
        std::string::npos);
}

TEST_CASE("traces of the same run are equal, and survive being written") {
  const Trace a = trace_model(model(), {}, kIds, 3), b = trace_model(model(), {}, kIds, 3);
  CHECK(a.steps.size() == 5);
  const TraceDifference same = compare(a, Trace::parse(b.to_json(), "b"));
  CHECK_FALSE(same.differs);
  CHECK(same.n_compared > 100);
  CHECK(same.to_text(a, b).find("no difference") == 0);
}

TEST_CASE("the first node that differs is named") {
  const SessionOptions right{.backend = "reference", .weights = WeightMode::mapped};
  const Seeded wrong("blk.1.attn_residual", wide_steps_differ);
  SessionOptions other = right;
  other.backend_instance = &wrong;
  const Trace a = trace_model(model(), right, kIds, 2), b = trace_model(model(), other, kIds, 2);
  const TraceDifference found = compare(a, b);
  CHECK(found.differs);
  CHECK(found.step == 0);
  CHECK(found.path == "blk.1.attn_residual");
  CHECK(found.to_text(a, b).find("'blk.1.attn_residual' in step 0") != std::string::npos);

  // The second of two nodes of one path; names from files do nothing to the terminal.
  const TracedNode same{.path = "p", .op = "o", .kernel = "first", .spec = "s"};
  TracedNode other_hash = same;
  other_hash.kernel = "\x1b[2J";
  Trace c{.steps = {{.plan = "d", .nodes = {same, other_hash}}}}, d = c;
  d.steps[0].nodes[1].hash = 1;
  const std::string text = compare(c, d).to_text(c, d);
  CHECK(text.find("0000000000000001 by ") != std::string::npos);
  CHECK(text.find("first by") == std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("traces that cannot be compared are rejected") {
  const Trace a = trace_model(model(), {}, kIds, 0);
  CHECK(text_of<ValueError>([&] {
          compare(a, trace_model(model(), {}, {7, 3}, 0));
        }) ==
        "the traces are of different runs: step 0 has tokens [7,3,11,3,42,9] in one, [7] in the "
        "other");
  const SessionOptions unfused{.passes_off = {"all"}};
  CHECK(text_of<ValueError>([&] {
          compare(a, trace_model(model(), unfused, kIds, 0));
        }).find("step 0 has node ") != std::string::npos);
  CHECK_THROWS_AS(compare(a, trace_model(model(), {}, kIds, 1)), ValueError);
  for (const std::string bad :
       {"", "{", "[]", "{\"format\":\"weft-trace-2\"}", "{\"format\":\"weft-trace-1\"}",
        "{\"format\":\"weft-trace-1\",\"model\":\"\",\"backend\":\"\",\"steps\":[{\"plan\":\"d\","
        "\"tokens\":[],\"nodes\":[[\"a\",\"b\",\"c\",\"d\",\"xyz\"]]}]}"}) {
    CHECK(text_of<FormatError>([&] { Trace::parse(bad, "F"); }).starts_with("F: not a trace"));
  }
}

// The smallest possible model: its logits are computed from a row of the embedding alone.
Tensor build_bigram(const Weights& w, const arch::Hparams& c, const Inputs& in) {
  Tensor embd = w("token_embd.weight", {c.V, c.D});
  return head(w, c, get_rows(embd, in.tokens), embd, in);
}

TEST_CASE("architectures from outside are registered once, and then found") {
  arch::register_architecture({.name = "bigram", .build = build_bigram});
  const arch::MadeSource source("bigram");
  CHECK((arch::find_architecture(source).build == build_bigram));
  CHECK(text_of<ValueError>([] {
          arch::register_architecture({.name = "bigram", .build = build_bigram});
        }) == "an architecture 'bigram' already exists");
  CHECK_THROWS_AS(arch::register_architecture({.name = "llama", .build = build_bigram}),
                  ValueError);
  CHECK_THROWS_AS(arch::register_architecture({.name = "nothing"}), ValueError);
  CHECK_THROWS_AS(check_new_model("nothing"), UnsupportedError);
  const SelfReport report = check_new_model("bigram");
  INFO(report.to_text());
  CHECK(check_of(report, "graph").verdict == Verdict::passed);
  CHECK(check_of(report, "nodes, Q4_K").verdict == Verdict::passed);
  CHECK(check_of(report, "chunks").verdict == Verdict::passed);
}

TEST_CASE("an architecture with all kinds of memory passes the checks of new ones") {
  test::register_mixed();
  const SelfReport report =
      check_new_model("mixed", {.keys = {{"mixed.block_count", std::int64_t{4}}}});
  INFO(report.to_text());
  CHECK(report.passed());
  CHECK(check_of(report, "prefix reuse = fresh").verdict == Verdict::passed);
}

TEST_CASE("wrong builders fail the check of their graph") {
  const auto graph_of = [](std::string_view name, auto build) {
    arch::register_architecture({.name = name, .build = build});
    const SelfReport report = check_new_model(std::string(name));
    CHECK_FALSE(report.passed());
    CHECK(report.checks.size() == 2);  // there is nothing to run
    return report.checks.front().detail;
  };
  const std::string unused =
      graph_of("forgets", [](const Weights& w, const arch::Hparams& c, const Inputs& in) {
        w("a_weight.nobody_takes", {c.D});
        return build_bigram(w, c, in);
      });
  CHECK(unused.find("weight 'a_weight.nobody_takes' is declared and not used (models/check/src/"
                    "check_test.cpp:") == 0);
  CHECK(graph_of("all-rows",
                 [](const Weights& w, const arch::Hparams& c, const Inputs& in) {
                   return get_rows(w("token_embd.weight", {c.V, c.D}), in.tokens);
                 })
            .find("made up: architecture 'all-rows': the logits of a step must be F32 [O, 96], got "
                  "F32 [T, 256]; pick the rows `out_rows` with get_rows() (models/check/") == 0);
  CHECK(graph_of("misfit", [](const Weights& w, const arch::Hparams& c, const Inputs& in) {
          Tensor embd = w("token_embd.weight", {c.V, c.D});
          return norm(w, "output_norm", c,
                      project(w, "odd", c.D, c.layer(0).F, get_rows(embd, in.tokens)));
        }).find("linear 'odd'") != std::string::npos);
}

}  // namespace weft::test
