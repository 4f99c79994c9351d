// Saved sequences: they continue with the same bits, and damaged or foreign ones are refused.
#include "weft/run/saved_sequence.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "weft/backends/backend.h"
#include "weft/base/checksum.h"
#include "weft/base/error.h"
#include "weft/ops/formats/q8_0.h"

#include "saved/sequence_states.h"
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
    const auto model = tiny_model({.sizes = {.H = 2}});
    const SessionOptions options{
        .context = 200, .sequences = 2, .cache_k = cache, .cache_v = cache};
    Session first(model, options);
    const auto expected = logits_after(first, 0, ids);
    save_sequence(first, 0, "a note", path);

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
  const auto model = tiny_model({.sizes = {.H = 2}});
  {
    Session session(model, {.context = 200});
    session.feed(0, ids);
    save_sequence(session, 0, "", path);
  }
  const SavedSequence saved = SavedSequence::open(path);
  const auto other_model = tiny_model(
      {.sizes = {.H = 2}, .change = [](const std::string&, std::vector<float>& v) { v[0] += 1; }});
  Session other(other_model, {.context = 200}), type(model, {.context = 200, .cache_k = q8_0}),
      reference(model, {.context = 200, .backend = "reference"}), small(model, {.context = 64});
  for (Session* session : {&other, &type, &reference}) {
    const std::string why = saved.why_not(*session);
    CHECK(why.starts_with(session == &other ? "was saved with other weights than those of "
                                            : "was saved with other adapters or scales, other "
                                              "cache types or other kernels: their hash is "));
    session->feed(0, counted(3));
    CHECK(refusal<ValueError>([&] { saved.restore(*session, 0, 10); }) == path + ": " + why);
    CHECK(session->length(0) == 3);
  }
  CHECK(saved.why_not(small).empty());
  CHECK(refusal<ValueError>([&] { saved.restore(small, 0, 100); }) ==
        "sequence 0 would have 100 tokens, its context holds 64");
  CHECK(refusal<ValueError>([&] {
          saved.restore(small, 0, 101);
        }).ends_with("holds 100 tokens, 101 were requested"));
  saved.restore(small, 0, 40);
  CHECK(small.length(0) == 40);
}

TEST_CASE("a sequence continues on another instruction set with the same bits, from any weights") {
  const test::TempFolder folder;
  const std::string path = folder / "s";
  const auto ids = counted(100);
  for (const DType cache : {f16, q8_0}) {
    const auto model = tiny_model({.matrices = q8_0, .sizes = {.D = 64, .H = 2, .F = 64}});
    const auto options = [&](std::string_view isa, WeightMode weights) {
      SessionOptions o{.context = 200, .cache_k = cache, .cache_v = cache};
      o.backend = fmt::format("cpu:{}", isa);
      o.weights = weights;
      return o;
    };
    Session first(model, options(cpu_isas().front(), WeightMode::resident));
    first.feed(0, std::span(ids).first(80));
    save_sequence(first, 0, "", path);
    const auto expected = logits_after(first, 0, std::span(ids).subspan(80));
    const SavedSequence saved = SavedSequence::open(path);
    for (const std::string_view isa : cpu_isas()) {
      CAPTURE(isa);
      for (const WeightMode weights : {WeightMode::resident, WeightMode::mapped}) {
        Session other(model, options(isa, weights));
        CHECK(saved.why_not(other).empty() == (isa != "sse2"));
        if (isa == "sse2") continue;
        saved.restore(other, 0, 80);
        CHECK(logits_after(other, 0, std::span(ids).subspan(80)) == expected);
      }
    }
  }
}

// The file with another number at a place, and a checksum that fits.
std::vector<std::byte> with_number(std::vector<std::byte> file, std::size_t at,
                                   std::uint64_t number) {
  std::memcpy(&file[at], &number, sizeof number);
  const std::size_t end = file.size() - sizeof(std::uint64_t);
  const std::uint64_t sum = checksum(std::span(file).first(end));
  std::memcpy(&file[end], &sum, sizeof sum);
  return file;
}

// The file as version 2 has it: without the numbers of tokens, of which states of cells have none.
// The note is "note".
std::vector<std::byte> without_lengths(std::vector<std::byte> file, std::size_t n_tokens,
                                       std::size_t n_states) {
  std::size_t at = 8 + 4 * 8 + 8 + n_tokens * 4 + 8 + 4 + 8;
  for (std::size_t i = 0; i < n_states; ++i) {
    file.erase(file.begin() + std::ptrdiff_t(at), file.begin() + std::ptrdiff_t(at + 8));
    std::uint64_t n = 0;
    std::memcpy(&n, &file[at], sizeof n);
    at += 8 + n;
  }
  return file;
}

TEST_CASE("a file of another kernels' version, model or Weft is rejected, with both values") {
  const test::TempFolder folder;
  const std::string path = folder / "s";
  Session session(tiny_model({}), {.context = 64});
  const auto ids = counted(5);
  session.feed(0, ids);
  save_sequence(session, 0, "note", path);
  const std::vector<std::byte> good = test::file_bytes(path);
  const SequenceOrigin origin = origin_of(session, 0);
  const auto why = [&](std::size_t at, std::uint64_t number) {
    const std::vector<std::byte> bytes = with_number(good, at, number);
    const SavedSequence saved = SavedSequence::parse(bytes, "F");
    const std::string text = refusal<ValueError>([&] { saved.restore(session, 0, 5); });
    CHECK(text == "F: " + saved.why_not(session));
    return text;
  };
  const std::string model = session.model().file().path();
  CHECK(why(8, 1) ==
        fmt::format("F: was saved by another version of Weft: its kernels have version "
                    "1, expected {}",
                    origin.kernels));
  CHECK(why(16, 0xab) == fmt::format("F: was saved with another model than {}: the hash of its "
                                     "metadata is 00000000000000ab, expected {:016x}",
                                     model, origin.description));
  CHECK(why(24, 0xab) == fmt::format("F: was saved with other weights than those of {}: their "
                                     "checksum is 00000000000000ab, expected {:016x}",
                                     model, origin.contents));
  CHECK(why(32, 0xab).ends_with(
      fmt::format("their hash is 00000000000000ab, expected {:016x}", origin.computation)));
  std::uint64_t magic = 0;
  std::memcpy(&magic, "weftseq9", sizeof magic);
  const auto newer = with_number(good, 0, magic);
  CHECK(refusal<UnsupportedError>([&] { (void)SavedSequence::parse(newer, "F"); }) ==
        "F: was saved by another version of Weft: it starts with 'weftseq9', expected 'weftseq3'");

  // Version 1 has one number instead of four. Its tokens and note are read.
  std::memcpy(&magic, "weftseq1", sizeof magic);
  std::vector<std::byte> shorter = without_lengths(good, 5, run::n_states(session));
  shorter.erase(shorter.begin() + 8, shorter.begin() + 32);
  const auto older = with_number(shorter, 0, magic);
  const SavedSequence saved = SavedSequence::parse(older, "F");
  CHECK(saved.note() == "note");
  CHECK(std::ranges::equal(saved.tokens(), ids));
  CHECK(refusal<ValueError>([&] { saved.restore(session, 0, 5); }) ==
        "F: was saved by another version of Weft: it starts with 'weftseq1', expected 'weftseq3'");
}

struct Recurrent {
  std::shared_ptr<const Model> model = tiny_model({.arch = "qwen35"});
  SessionOptions options{.context = 300, .sequences = 2};
  std::vector<std::int32_t> ids = counted(200);
};

TEST_CASE("a restored sequence of recurrent layers can be truncated as the saved one") {
  const test::TempFolder folder;
  const std::string path = folder / "s";
  const Recurrent r;
  Session first(r.model, r.options);
  const auto expected = logits_after(first, 0, r.ids);
  save_sequence(first, 0, "", path);
  const SavedSequence saved = SavedSequence::open(path);
  for (const std::int64_t n : {200, 199, 130, 64, 63})
    CHECK(saved.resume_point(first, n) == first.resume_point(0, n));
  for (const std::int64_t kept : {200, 192, 128, 64}) {
    CAPTURE(kept);
    Session session(r.model, r.options);
    saved.restore(session, 1, kept);
    for (std::int64_t n = 0; n <= kept; ++n)
      REQUIRE(session.resume_point(1, n) == first.resume_point(0, n));
    const std::int64_t n = session.resume_point(1, std::min<std::int64_t>(kept, 150));
    session.truncate(1, n);
    CHECK(logits_after(session, 1, std::span(r.ids).subspan(static_cast<std::size_t>(n))) ==
          expected);
  }
  Session session(r.model, r.options);
  CHECK(refusal<UnsupportedError>([&] {
          saved.restore(session, 0, 150);
        }).ends_with("cannot continue from 150 of them, only from 128"));
  CHECK(session.length(0) == 0);
}

TEST_CASE("states of other numbers of tokens than the file says are rejected") {
  const test::TempFolder folder;
  const std::string path = folder / "s";
  const Recurrent r;
  Session session(r.model, r.options);
  session.feed(0, r.ids);
  save_sequence(session, 0, "", path);
  const std::vector<std::byte> good = test::file_bytes(path);
  // The numbers of tokens 64, 128, 192 and 200, each time that they occur behind their number.
  const std::int64_t lengths[] = {4, 64, 128, 192, 200};
  const auto wanted = std::as_bytes(std::span(lengths));
  const auto at = std::ranges::search(good, wanted).begin() - good.begin();
  REQUIRE(at < std::ssize(good));
  const auto refused = [&](std::size_t number, std::uint64_t value) {
    CAPTURE(number);
    CAPTURE(value);
    const auto bad = with_number(good, static_cast<std::size_t>(at) + 8 * number, value);
    const std::string why = refusal<Error>([&] {
      const SavedSequence saved = SavedSequence::parse(bad, "F");
      CHECK(saved.resume_point(session, 200) <= 200);
      saved.restore(session, 1, 200);
    });
    CHECK(why.starts_with("F: "));
    CHECK(session.length(1) == 0);
  };
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{5},
                                    std::uint64_t{1} << 61, ~std::uint64_t{0}})
    refused(0, value);
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{65}, std::uint64_t{128}, ~std::uint64_t{0}})
    refused(1, value);
  refused(4, 199);
  refused(4, 201);
}

TEST_CASE("files of version 2 have the state at the end alone") {
  const test::TempFolder folder;
  const std::string path = folder / "s";
  const auto model = tiny_model({});
  Session session(model, {.context = 64});
  const auto ids = counted(5);
  const auto expected = logits_after(session, 0, ids);
  save_sequence(session, 0, "note", path);
  std::vector<std::byte> older = without_lengths(test::file_bytes(path), 5, run::n_states(session));
  std::uint64_t magic = 0;
  std::memcpy(&magic, "weftseq2", sizeof magic);
  older = with_number(older, 0, magic);
  const SavedSequence saved = SavedSequence::parse(older, "F");
  CHECK(saved.note() == "note");
  saved.restore(session, 0, 4);
  CHECK(logits_after(session, 0, std::span(ids).subspan(4)) == expected);
}

TEST_CASE("a sequence does not fit a model if one byte of any tensor or key changed") {
  const test::TempFolder folder;
  const std::string path = folder / "s", model = folder / "m.gguf", other = folder / "other.gguf";
  test::write_tiny_model({.matrices = q8_0, .sizes = {.L = 1}}, model);
  const auto ids = counted(5);
  {
    Session session(Model::load(model), {.context = 64});
    session.feed(0, ids);
    save_sequence(session, 0, "", path);
  }
  const SavedSequence saved = SavedSequence::open(path);
  const std::vector<std::byte> good = test::file_bytes(model);
  const auto why = [&](std::size_t at) {
    std::vector<std::byte> bytes = good;
    if (at < bytes.size()) bytes[at] ^= std::byte{1};
    std::ofstream(other, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    Session session(Model::load(other), {.context = 64});
    return saved.why_not(session);
  };
  CHECK(why(good.size()).empty());  // a copy under another name
  const Checkpoint file = Checkpoint::open(model);
  for (const CheckpointTensor& tensor : file.tensors()) {
    CAPTURE(std::string(tensor.name));
    CHECK(why(tensor.file_offset + static_cast<std::size_t>(tensor.n_bytes / 2))
              .starts_with("was saved with other weights than those of " + other));
  }
  const std::string_view text(reinterpret_cast<const char*>(good.data()), good.size());
  constexpr std::string_view kKey = "attention.layer_norm_rms_epsilon";
  const std::size_t key = text.find(kKey);
  REQUIRE(key < good.size());
  CHECK(why(key + kKey.size() + sizeof(std::uint32_t))  // its value, behind the type
            .starts_with("was saved with another model than " + other));
}

TEST_CASE("a change of any byte of a saved sequence is detected") {
  const test::TempFolder folder;
  const std::string path = folder / "s";
  const auto ids = counted(5);
  Session session(tiny_model({}), {.context = 64});
  session.feed(0, ids);
  save_sequence(session, 0, "note", path);
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
        }) == "F: not a saved sequence: it does not start with 'weftseq3'");
}

}  // namespace
}  // namespace weft
