// Saved sequences: they go on with the same bits, and nothing damaged or foreign gets in.
#include "weft/run/saved_sequence.h"

#include <numeric>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/formats/q8_0.h"

#include "support/file_bytes.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using test::tiny_model;

std::vector<std::int32_t> counted(std::size_t n) {
  std::vector<std::int32_t> ids(n);
  std::iota(ids.begin(), ids.end(), 0);
  for (std::int32_t& id : ids) id = id * 7 % 50;
  return ids;
}

std::vector<float> logits_after(Session& session, std::int32_t sequence,
                                std::span<const std::int32_t> ids) {
  session.feed(sequence, ids);
  return {session.logits().begin(), session.logits().end()};
}

template <class E>
std::string refusal(auto f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "";
}

TEST_CASE("a saved sequence continues with the same bits, in another session and cut anywhere") {
  const test::TempFolder folder;
  const std::string path = folder / "s";
  const auto ids = counted(150);
  for (const DType cache : {f16, q8_0}) {
    const auto model = tiny_model({.heads = 2});
    const SessionOptions options{
        .context = 200, .sequences = 2, .cache_k = cache, .cache_v = cache};
    Session first(model, options);
    const auto expected = logits_after(first, 0, ids);
    save_sequence(first, 0, ids, "a note", path);

    const SavedSequence saved = SavedSequence::open(path);
    CHECK(std::ranges::equal(saved.tokens(), ids));
    CHECK(saved.note() == "a note");
    for (const std::size_t kept : {149, 128, 70, 64, 1, 0}) {
      CAPTURE(kept);
      Session session(model, options);
      session.feed(1, counted(9));
      saved.restore(session, 1, static_cast<std::int64_t>(kept));
      CHECK(session.length(1) == static_cast<std::int64_t>(kept));
      CHECK(logits_after(session, 1, std::span(ids).subspan(kept)) == expected);
    }
  }
}

TEST_CASE("the file of another model, cache type or context is rejected, and the sequence stays") {
  const test::TempFolder folder;
  const std::string path = folder / "s";
  const auto ids = counted(100);
  const auto model = tiny_model({.heads = 2});
  {
    Session session(model, {.context = 200});
    session.feed(0, ids);
    CHECK(refusal<ValueError>([&] { save_sequence(session, 0, counted(99), "", path); }) ==
          "sequence 0 has 100 tokens, got 99 to save");
    save_sequence(session, 0, ids, "", path);
  }
  const SavedSequence saved = SavedSequence::open(path);
  const auto other_model = tiny_model(
      {.heads = 2, .change = [](const std::string&, std::vector<float>& v) { v[0] += 1; }});
  Session other(other_model, {.context = 200}), type(model, {.context = 200, .cache_k = q8_0}),
      reference(model, {.context = 200, .backend = "reference"}), small(model, {.context = 64});
  for (Session* session : {&other, &type, &reference}) {
    CHECK(!saved.matches(*session));
    session->feed(0, counted(3));
    CHECK(refusal<ValueError>([&] { saved.restore(*session, 0, 10); })
              .ends_with("was saved with another model, other adapters or scales, other cache "
                         "types or other kernels"));
    CHECK(session->length(0) == 3);
  }
  CHECK(saved.matches(small));
  CHECK(refusal<ValueError>([&] { saved.restore(small, 0, 100); }) ==
        "sequence 0 would have 100 tokens, its context holds 64");
  CHECK(refusal<ValueError>([&] {
          saved.restore(small, 0, 101);
        }).ends_with("holds 100 tokens, 101 were requested"));
  saved.restore(small, 0, 40);
  CHECK(small.length(0) == 40);
}

TEST_CASE("a change of any byte of a saved sequence is detected") {
  const test::TempFolder folder;
  const std::string path = folder / "s";
  const auto ids = counted(5);
  Session session(tiny_model({}), {.context = 64});
  session.feed(0, ids);
  save_sequence(session, 0, ids, "note", path);
  const std::vector<std::byte> good = test::file_bytes(path);
  REQUIRE(!good.empty());
  SavedSequence::parse(good, "F").restore(session, 0, 5);
  for (std::size_t i = 0; i < good.size(); i += i < 200 ? 1 : 997) {
    CAPTURE(i);
    auto bad = good;
    bad[i] ^= std::byte{0x10};
    CHECK(!refusal<Error>([&] { (void)SavedSequence::parse(bad, "F"); }).empty());
  }
  for (std::size_t n = 0; n < good.size(); n += n < 200 ? 1 : 997) {
    CAPTURE(n);
    const auto cut = std::span(good).first(n);
    CHECK(refusal<Error>([&] { (void)SavedSequence::parse(cut, "F"); }).starts_with("F: "));
  }
  CHECK(refusal<UnsupportedError>([&] {
          (void)SavedSequence::parse(std::as_bytes(std::span("GGUF....")), "F");
        }) == "F: not a saved sequence: it does not start with 'weftseq1'");
}

}  // namespace
}  // namespace weft
