// Drafts of EAGLE-3 heads, that they change nothing else, and heads that are refused.
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/run/draft_file.h"
#include "weft/run/session.h"

#include "support/error_text.h"
#include "support/made_head.h"
#include "support/session_steps.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

using namespace weft;
using test::MadeHead;
using test::some_tokens;
using test::TinyModel;

namespace {

using Logits = std::vector<float>;

class Heads {
 public:
  std::string head(const MadeHead& about) {
    const std::string path = (folder_ / fmt::format("head{}.gguf", n_++)).string();
    test::write_head(about, path);
    return path;
  }
  std::shared_ptr<const Model> model(const MadeHead& about, const TinyModel& of = {}) {
    ModelOptions options;
    options.draft_file = head(about);
    return test::tiny_model(of, options);
  }
  // Without the path in front.
  std::string refusal(const MadeHead& about, const TinyModel& of = {}) {
    ModelOptions options;
    options.draft_file = head(about);
    const std::string text = test::text_of([&] { test::tiny_model(of, options); });
    REQUIRE_MESSAGE(text.starts_with(options.draft_file + ": "), text);
    return text.substr(options.draft_file.size() + 2);
  }

 private:
  test::TempFolder folder_;
  int n_ = 0;
};

SessionOptions drafting(std::int32_t sequences = 1) {
  return {.context = 200, .sequences = sequences, .draft_layer = true};
}

Logits kept(std::span<const float> row) {
  return {row.begin(), row.end()};
}

// The logits of a draft after the tokens, and of one that goes on.
std::vector<Logits> two_drafts(Session& session, std::int32_t sequence = 0) {
  Logits first = kept(session.draft(sequence, 7, false));
  return {std::move(first), kept(session.draft(sequence, 9, true))};
}

std::vector<Logits> drafts_of(const std::shared_ptr<const Model>& model) {
  Session session(model, drafting());
  session.feed(0, some_tokens(40));
  return two_drafts(session);
}

}  // namespace

TEST_CASE("a draft of a head does not depend on how its sequence was computed") {
  Heads heads;
  const auto model = heads.model({.ids = {3, 1, 40, 7, 9}});
  REQUIRE(model->facts().drafts);
  CHECK(model->facts().draft_head);
  CHECK(kept(std::vector<float>(model->draft_ids().begin(), model->draft_ids().end())) ==
        Logits{3, 1, 40, 7, 9});
  const auto ids = some_tokens(90);
  Session whole(model, drafting());
  whole.feed(0, ids);
  const auto want = two_drafts(whole);
  REQUIRE(want[0].size() == 5);
  CHECK(want[0] != want[1]);

  SUBCASE("token by token, with drafts between") {
    Session session(model, drafting());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      session.feed(0, std::span(ids).subspan(i, 1));
      if (i + 1 == ids.size()) break;
      session.draft(0, i % 3 == 0 ? ids[i + 1] : 2, false);
      if (i % 2 == 0) session.draft(0, 3, true);
    }
    CHECK(two_drafts(session) == want);
  }
  SUBCASE("with guesses that are removed") {
    Session session(model, drafting());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      session.step(std::vector<StepToken>{{.token = ids[i]}, {.token = 1}, {.token = 2}});
      session.truncate(0, static_cast<std::int64_t>(i) + 1);
    }
    CHECK(two_drafts(session) == want);
  }
  SUBCASE("beside another sequence") {
    Session session(model, drafting(2));
    for (const std::int32_t id : ids)
      session.step(
          std::vector<StepToken>{{.token = id, .sequence = 1}, {.token = 5, .sequence = 0}});
    CHECK(two_drafts(session, 1) == want);
  }
}

TEST_CASE("steps are the same with a head") {
  Heads heads;
  const auto same = [&](const TinyModel& about) {
    const auto model = heads.model({}, about);
    for (const WeightMode weights : {WeightMode::mapped, WeightMode::resident}) {
      Session plain(test::tiny_model(about), {.context = 200, .weights = weights});
      Session without(model, {.context = 200, .weights = weights});
      SessionOptions options = drafting();
      options.weights = weights;
      Session session(model, options);
      for (const std::size_t n : {1, 40, 1, 7}) {
        for (Session* one : {&plain, &without, &session}) one->feed(0, some_tokens(n));
        REQUIRE(kept(session.logits()) == kept(plain.logits()));
        REQUIRE(kept(without.logits()) == kept(plain.logits()));
        CHECK(!session.draft(0, 3, false).empty());
      }
      CHECK(session.allocated_bytes() ==
            session.memory().total() - session.memory().weights_mapped);
    }
  };
  for (const std::string arch : {"llama", "gemma2", "qwen35", "rwkv7"}) {
    CAPTURE(arch);
    same({.arch = arch});
  }
  same({.arch = "glm4moe", .sizes = {.draft_layers = 1}});  // whose own layer is not used
}

TEST_CASE("a head reads the layers that its file names") {
  Heads heads;
  const auto want = drafts_of(heads.model({}));
  CHECK(drafts_of(heads.model({})) == want);
  CHECK(drafts_of(heads.model({.layers = {1, 0, 1}})) != want);
  CHECK(drafts_of(heads.model({.layers = {0, 1}})) != want);
  CHECK(drafts_of(heads.model({.norm_before_residual = true})) != want);
}

TEST_CASE("a head has its own matrices at the ends or the model's") {
  Heads heads;
  const auto want = drafts_of(heads.model({}));
  const auto own = drafts_of(heads.model({.own_table = true}));
  CHECK(own != want);
  const auto shared = drafts_of(heads.model({.own_output = false}));
  CHECK(shared != want);
  CHECK(shared[0].size() == 50);
  // Then its width may be another one.
  const auto narrow = heads.model({.D = 32, .own_table = true});
  CHECK(narrow->facts().draft_width == 32);
  CHECK(drafts_of(narrow)[0].size() == 50);
}

TEST_CASE("heads that do not fit are refused") {
  Heads heads;
  CHECK(draft_file_kind(Checkpoint::open(heads.head({}))) == DraftFileKind::head);
  CHECK(heads.refusal({.target_D = 32}) ==
        "a head for a model with embedding length 32 (eagle3.target_hidden_size), but the model "
        "has 64");
  CHECK(heads.refusal({.V = 49}) == "a head for a vocabulary of 49 tokens, but the model has 50");
  CHECK(heads.refusal({.D = 32}) ==
        "the head has no token_embd.weight, and its embedding length 32 is not that of the model, "
        "64");
  CHECK(heads.refusal({.layers = {0, 2}}) ==
        "key 'eagle3.extract_layers' is 2, must be 0..1, a layer of the model");
  CHECK(heads.refusal({.ids = {1, 50}}) == "tensor 'd2t' holds 50 at element 1, must be 0..49");
  CHECK(heads.refusal({.ids = {1, -1}}) == "tensor 'd2t' holds -1 at element 1, must be 0..49");
  CHECK(heads.refusal({.ids = {1, 2}, .own_output = false})
            .starts_with("tensor 'output.weight' is missing"));
  for (const char* name : {"fc.weight", "blk.0.attn_norm_2.weight", "output_norm.weight"})
    CHECK(
        heads.refusal({.without = name}).starts_with(fmt::format("tensor '{}' is missing", name)));
  CHECK(heads.refusal({.more = [](GgufWriter& w) { test::add_random(w, "t2d", {50}, 1, 1); }})
            .find("does not use tensor 't2d'") != std::string::npos);
  CHECK(heads.refusal({.more = [](GgufWriter& w) { w.add_bool("eagle3.fc_norm", true); }}) ==
        "key 'eagle3.fc_norm': heads of this form are not supported");
  for (const std::string arch : {"deepseek4", "gemma3n"})
    CHECK(heads.refusal({}, {.arch = arch}) ==
          fmt::format("models of architecture '{}' give no features to draft heads", arch));
  CHECK(heads.refusal({}, {.arch = "bert"})
            .starts_with("a draft head for a model that writes texts"));
}
