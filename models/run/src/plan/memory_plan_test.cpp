#include "weft/run/memory_plan.h"

#include <numeric>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/formats/q8_0.h"

#include "plan/state_bytes.h"
#include "support/error_text.h"
#include "support/mixed_model.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using test::mixed_model;
using test::text_of;
using test::tiny_model;

MemoryDemand demand_of(std::int32_t slots, std::int64_t context) {
  return {.session = {.context = context, .prefill_width = 64, .weights = WeightMode::mapped},
          .slots = slots};
}

std::int64_t bytes_of(const Model& model, std::int32_t slots, std::int64_t context) {
  SessionOptions options = demand_of(slots, context).session;
  options.sequences = slots;
  return plan_model(model, options).memory.total();
}

TEST_CASE("a demand that fits is met as it is, and the session is that of the plan") {
  const auto model = tiny_model();
  MemoryOffer offer = plan_memory(*model, demand_of(3, 100));
  CHECK(offer.slots == 3);
  CHECK(offer.n_kept == 0);
  CHECK(offer.concessions.empty());
  CHECK(offer.planned.memory.total() == bytes_of(*model, 3, 100));
  const MemoryUse predicted = offer.planned.memory;
  const Session session(std::move(offer.planned), model);
  CHECK(session.memory() == predicted);
  CHECK(session.options().sequences == 3);
  CHECK(session.allocated_bytes() == predicted.total() - predicted.weights_mapped);
}

TEST_CASE("slots are given up first, then contexts, as far as that is allowed") {
  const auto model = tiny_model();
  MemoryDemand demand = demand_of(8, 1024);
  demand.may_give_up = {.min_slots = 2, .min_context = 128};
  const auto with = [&](std::int64_t budget) {
    demand.session.mem_budget = budget;
    return plan_memory(*model, demand);
  };
  CHECK(with(bytes_of(*model, 8, 1024)).slots == 8);
  const MemoryOffer four = with(bytes_of(*model, 4, 1024));
  CHECK(four.slots == 4);
  CHECK(four.planned.options.context == 1024);
  REQUIRE_FALSE(four.concessions.empty());
  CHECK(four.concessions.front() == "8 slots of 1024 tokens -> 4 of 1024");
  const MemoryOffer short_ones = with(bytes_of(*model, 2, 256));
  CHECK(short_ones.slots == 2);
  CHECK(short_ones.planned.options.context == 256);

  demand.session.cache_k = demand.session.cache_v = f16;  // or the cache would become smaller,
  demand.session.prefill_width = 1;                       // and steps narrower
  demand.session.sequences = 1, demand.session.context = 128;
  const std::int64_t one = plan_model(*model, demand.session).memory.total();
  demand.session.context = 1024;
  const std::string refused = text_of([&] { with(one); });
  CHECK(refused.find("with a context of 2 x 128") != std::string::npos);
  CHECK(refused.find("; a context of 1 x 128 fits") != std::string::npos);
  const std::string hopeless = text_of([&] { with(100'000); });
  CHECK(hopeless.find("; the least that it needs is ") != std::string::npos);
  CHECK(hopeless.find(", with a context of 1 x 64") != std::string::npos);
}

TEST_CASE("what a refusal says fits does fit") {
  const auto model = tiny_model();
  for (const std::int64_t context : {64, 100, 128, 640, 100'000}) {
    for (const std::int64_t width : {8, 100}) {
      SessionOptions options{.context = context,
                             .sequences = 2,
                             .prefill_width = width,
                             .cache_k = f16,
                             .cache_v = f16,
                             .weights = WeightMode::mapped};
      SessionOptions narrow = options;
      narrow.prefill_width = 8;
      options.mem_budget = plan_model(*model, narrow).memory.total() - 1;
      CAPTURE(context);
      CAPTURE(width);
      const std::string text = text_of([&] { plan_model(*model, options); });
      const std::size_t at = text.find("; a context of 1 x ");
      if (at == std::string::npos) {
        CHECK(text.find("; the least that it needs is ") != std::string::npos);
        continue;
      }
      options.sequences = 1;
      options.context = std::stoll(text.substr(at + 19));
      CHECK_NOTHROW(plan_model(*model, options));
      if (context < 100'000) continue;
      options.context *= 2;
      CHECK_NOTHROW(plan_model(*model, options));  // one of two sequences has all of their cells
      options.context *= 2;
      CHECK_THROWS_AS(plan_model(*model, options), BudgetError);
    }
  }
}

TEST_CASE("the least that a refusal names is enough, regardless of other shares of the budget") {
  const auto model = tiny_model();
  MemoryDemand demand = demand_of(1, 64);
  demand.used = 5'000'000;
  demand.session.prefill_width = 8;
  const std::int64_t need = plan_memory(*model, demand).planned.memory.total();
  for (const ProgramMemory program : {ProgramMemory::none, ProgramMemory::process}) {
    demand.session.program = program;
    demand.session.mem_budget = demand.used + need - 10'000;
    const std::string text = text_of([&] { plan_memory(*model, demand); });
    const std::string words = "; the least that it needs is ";
    const std::size_t at = text.find(words);
    CAPTURE(text);
    REQUIRE(at != std::string::npos);
    const std::size_t begin = at + words.size();
    demand.session.mem_budget = parse_size(text.substr(begin, text.find(',', begin) - begin));
    CHECK_NOTHROW(plan_memory(*model, demand));
  }
}

TEST_CASE("every concession has a line, for any budget") {
  const auto model = tiny_model({.matrices = q8_0, .sizes = {.H = 2}});
  MemoryDemand demand = demand_of(4, 1024);
  demand.session.weights = WeightMode::automatic;
  demand.may_give_up = {.min_slots = 1, .share_cells = true};
  demand.kept_bytes = -1;
  demand.session.mem_budget = std::int64_t{64} << 20;
  std::int64_t budget = plan_memory(*model, demand).planned.memory.total() * 2;
  for (; budget > 300'000; budget = budget * 31 / 32) {
    demand.session.mem_budget = budget;
    MemoryOffer offer;
    try {
      offer = plan_memory(*model, demand);
    } catch (const BudgetError&) {
      break;
    }
    CAPTURE(budget);
    const SessionOptions& o = offer.planned.options;
    std::string lines;
    for (const std::string& line : offer.concessions) lines += line + "\n";
    const auto says = [&](const char* words) { return lines.find(words) != std::string::npos; };
    CHECK(says("cache F16 -> Q8_0") == (o.cache_k == q8_0));
    CHECK(says(" slots of ") == (offer.slots < 4));
    CHECK(says("prefill width") == (o.prefill_width < 64));
    if (offer.n_kept == 0) CHECK(says("which all slots share") == (o.cells < offer.slots * 1024));
    CHECK(offer.planned.memory.total() <= budget);
  }
}

TEST_CASE("slots with a fixed total have longer contexts when they are fewer") {
  const auto model = tiny_model();
  MemoryDemand demand = demand_of(8, 70);  // two blocks of 64 each; four slots of 140 have three
  demand.may_give_up = {.min_slots = 1, .fixed_total = true};
  demand.session.mem_budget = bytes_of(*model, 4, 140);
  const MemoryOffer offer = plan_memory(*model, demand);
  CHECK(offer.slots * offer.planned.options.context == 560);
  CHECK(offer.slots == 4);
  CHECK(offer.planned.memory.total() <= demand.session.mem_budget);
}

TEST_CASE("kept prompts have sequences and cells beside the slots") {
  const auto model = tiny_model();
  MemoryDemand demand = demand_of(2, 640);
  demand.session.prefill_width = 1;
  demand.session.cache_k = demand.session.cache_v = f16;
  const PlannedModel bare = plan_memory(*model, demand).planned;
  const std::int64_t block = run::state_bytes(bare).block;
  demand.kept_bytes = 5 * block;
  const MemoryOffer offer = plan_memory(*model, demand);
  CHECK(offer.n_kept == 5);  // as many as have a block each
  CHECK(offer.planned.options.sequences == 2);
  CHECK(offer.planned.options.kept == 5);
  CHECK(offer.planned.options.cells == bare.options.cells);
  CHECK(offer.planned.options.kept_tokens == 5 * kCellsPerBlock);
  CHECK(offer.planned.memory.state - bare.memory.state == 5 * block);

  demand.session.mem_budget = bare.memory.total() + 2 * block;
  CHECK_THROWS_AS(plan_memory(*model, demand), BudgetError);  // requested kept bytes must be met
  demand.kept_bytes = -1;
  CHECK(plan_memory(*model, demand).slots == 2);
}

TEST_CASE("states for marks take free memory, and only in models that need them") {
  MemoryDemand demand = demand_of(1, 640);
  demand.marked_states = 6;
  CHECK(plan_memory(*tiny_model(), demand).n_kept == 0);
  const auto model = mixed_model();
  const std::int64_t bare = bytes_of(*model, 1, 640);
  MemoryOffer offer = plan_memory(*model, demand);
  CHECK(offer.n_kept == 6);
  CHECK(offer.planned.memory.total() > bare);
  CHECK(offer.concessions.empty());
  const MemoryUse predicted = offer.planned.memory;
  CHECK(Session(std::move(offer.planned), model).memory() == predicted);
  demand.session.mem_budget = bare + 1;
  offer = plan_memory(*model, demand);
  CHECK(offer.n_kept == 0);
  CHECK(offer.planned.options.kept == 0);
  CHECK(offer.concessions.empty());
}

TEST_CASE("other models have their share of the budget") {
  const auto model = tiny_model();
  MemoryDemand demand = demand_of(1, 64);
  demand.session.mem_budget = std::int64_t{160} << 20;
  CHECK(session_budget(demand) == std::int64_t{160} << 20);
  demand.used = std::int64_t{100} << 20;
  CHECK(plan_memory(*model, demand).planned.options.mem_budget == std::int64_t{60} << 20);
  demand.used = std::int64_t{160} << 20;
  const std::string text = text_of([&] { plan_memory(*model, demand); });
  CHECK(text == "other models use 160.0 MiB of the memory budget of 160.0 MiB");
  demand.session.mem_budget = 0;
  CHECK(session_budget(demand) == 0);
}

TEST_CASE("a budget of the process covers the program, one of sessions does not") {
  const auto model = tiny_model();
  SessionOptions options{.context = 64, .mem_budget = std::int64_t{1} << 30};
  const MemoryUse alone = plan_model(*model, options).memory;
  CHECK(alone.program == 0);
  options.program = ProgramMemory::model;
  const MemoryUse with_model = plan_model(*model, options).memory;
  CHECK(with_model.program > 0);
  CHECK(with_model.total() == alone.total() + with_model.program);
  options.program = ProgramMemory::process;
  CHECK(plan_model(*model, options).memory.program == with_model.program + kProcessBytes);

  options.mem_budget = kProcessBytes;
  CHECK_THROWS_AS(plan_model(*model, options), BudgetError);
  options.mem_budget = 0;  // what the system has is what is left
  CHECK(plan_model(*model, options).memory.program == 0);
}

TEST_CASE("lines add up to the total, and states are listed by kind") {
  SessionOptions options{.context = 2048, .sequences = 2, .prefill_width = 64};
  const PlannedModel planned = plan_model(*mixed_model(), options);
  const auto lines = planned.memory.lines();
  std::int64_t sum = 0;
  std::string names;
  for (const MemoryUse::Named& line : lines) sum += line.bytes, names += line.name + ";";
  CHECK(sum == planned.memory.total());
  for (const char* name : {"state: all tokens;", "state: last ", "state: recurrent states;"})
    CHECK(names.find(name) != std::string::npos);
  std::int64_t states = 0;
  for (const MemoryUse::Named& kind : planned.memory.states) states += kind.bytes;
  CHECK(states == planned.memory.state);
}

// Both would write the choices of their own experts into it when they end.
TEST_CASE("a draft model does not use the file of experts that the model uses") {
  const auto model = test::tiny_model();
  for (const std::string file : {"both.experts", "auto", ""}) {
    MemoryDemand demand{.session = {.context = 64}, .drafts = {.max_guesses = 4, .model = model}};
    demand.session.expert_usage = demand.drafts.session.expert_usage = file;
    const MemoryOffer offer = plan_memory(*model, demand);
    REQUIRE(offer.drafts.session);
    CHECK(offer.planned.options.expert_usage == file);
    // "auto" is a file beside each model.
    CHECK(offer.drafts.session->options.expert_usage == (file == "auto" ? file : ""));
  }
  MemoryDemand demand{.session = {.context = 64}, .drafts = {.max_guesses = 4, .model = model}};
  demand.drafts.session.expert_usage = "draft.experts";
  CHECK(plan_memory(*model, demand).drafts.session->options.expert_usage == "draft.experts");
}

TEST_CASE("a budget with room for the texts but not for their draft model") {
  const auto model = test::tiny_model();
  MemoryDemand demand{.session = {.context = 64, .weights = WeightMode::mapped}};
  demand.session.mem_budget = std::int64_t{1} << 30;
  const std::int64_t texts = plan_memory(*model, demand).memory().total();
  demand.drafts = {.max_guesses = 4, .model = model};
  const MemoryOffer ample = plan_memory(*model, demand);
  CHECK(ample.drafts.reserved == ample.memory().total() - texts);
  demand.session.mem_budget = texts + ample.drafts.guess_bytes;
  const MemoryOffer tight = plan_memory(*model, demand);
  CHECK(tight.concessions.empty());  // the texts give nothing up
  CHECK_FALSE(tight.drafts.session);
  REQUIRE(tight.drafts.left_out.size() == 1);
  CHECK(tight.drafts.left_out[0].find("no room for its session") != std::string::npos);
  CHECK(tight.memory().total() <= demand.session.mem_budget);
  demand.session.mem_budget = texts;
  const MemoryOffer none = plan_memory(*model, demand);
  CHECK(none.drafts.guess_bytes == 0);
  CHECK(none.memory().total() == texts);
}

TEST_CASE("state bytes show the cost of more sequences and more cells") {
  for (const auto& model : {tiny_model(), mixed_model()}) {
    const auto planned = [&](std::int32_t sequences, std::int64_t cells) {
      return plan_model(*model, {.context = 640,
                                 .sequences = sequences,
                                 .cells = cells,
                                 .prefill_width = 64,
                                 .weights = WeightMode::mapped});
    };
    const PlannedModel few = planned(2, 640);
    const run::StateBytes bytes = run::state_bytes(few);
    const std::int64_t states = few.memory.state;
    CHECK(bytes.of(2, 10) >= states);
    CHECK(bytes.of(2, 10) - states < states / 20);  // windows share the rest of a block
    CHECK(5 * bytes.block == planned(2, 960).memory.state - states);
    CHECK(3 * bytes.sequence >= planned(5, 640).memory.state - states);
  }
}

}  // namespace
}  // namespace weft
