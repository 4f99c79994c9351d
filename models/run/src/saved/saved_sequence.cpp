#include "weft/run/saved_sequence.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "weft/base/checksum.h"
#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"
#include "weft/files/cursor.h"
#include "weft/files/mapped_file.h"
#include "weft/files/output_file.h"
#include "weft/run/kept_texts.h"

#include "saved/sequence_states.h"

namespace weft {
namespace {

constexpr std::string_view kSequenceMagic = "weftseq3", kSecondSequenceMagic = "weftseq2",
                           kFirstSequenceMagic = "weftseq1";
constexpr std::string_view kAnySequenceMagic = "weftseq";

// Passes bytes on and hashes them.
class Writer {
 public:
  explicit Writer(const WriteBytes& write) : write_(write) {}

  void bytes(std::span<const std::byte> bytes) {
    sum_.add(bytes);
    write_(bytes);
  }
  void number(std::uint64_t value) { bytes(std::as_bytes(std::span(&value, 1))); }
  void block(std::span<const std::byte> content) {
    number(content.size());
    bytes(content);
  }
  void end() { number(sum_.value()); }

 private:
  const WriteBytes& write_;
  Checksum sum_;
};

std::string_view start_of(std::span<const std::byte> bytes, std::size_t n) {
  return {reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), n)};
}

// Checks the hash at the end and returns the bytes before it.
std::span<const std::byte> checked(std::span<const std::byte> bytes, const std::string& name) {
  const std::string_view magic = start_of(bytes, kSequenceMagic.size());
  if (!magic.starts_with(kAnySequenceMagic))
    fail<UnsupportedError>("{}: not a saved sequence: it does not start with '{}'",
                           printable_path(name), kSequenceMagic);
  if (magic.size() == kSequenceMagic.size() && magic != kSequenceMagic &&
      magic != kSecondSequenceMagic && magic != kFirstSequenceMagic)
    fail<UnsupportedError>(
        "{}: was saved by another version of Weft: it starts with '{}', expected '{}'",
        printable_path(name), printable(magic), kSequenceMagic);
  std::uint64_t sum = 0;
  if (bytes.size() < kSequenceMagic.size() + sizeof sum)
    fail<FormatError>("{}: truncated saved sequence of {} bytes", printable_path(name),
                      bytes.size());
  const auto content = bytes.first(bytes.size() - sizeof sum);
  std::memcpy(&sum, bytes.data() + content.size(), sizeof sum);
  const std::uint64_t found = checksum(content);
  if (found != sum)
    fail<FormatError>("{}: damaged: its checksum is {:016x}, expected {:016x}",
                      printable_path(name), found, sum);
  return content;
}

std::span<const std::byte> read_block(gguf::Cursor& cursor, std::string_view what) {
  return cursor.take(cursor.read<std::uint64_t>(what), 1, what);
}

// Ascending numbers from 1 to `n_tokens`.
std::vector<std::int64_t> read_lengths(gguf::Cursor& cursor, std::uint64_t n_tokens) {
  const auto n = cursor.read<std::uint64_t>("number of lengths");
  const auto bytes = cursor.take(n, sizeof(std::int64_t), "lengths");
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(n));
  if (!bytes.empty()) std::memcpy(lengths.data(), bytes.data(), bytes.size());
  std::int64_t before = 0;
  for (const std::int64_t length : lengths) {
    if (length <= before || length > static_cast<std::int64_t>(n_tokens))
      cursor.fail_here("a state after {} tokens, expected {} to {}", length, before + 1, n_tokens);
    before = length;
  }
  return lengths;
}

}  // namespace

void save_sequence(const Session& session, std::int32_t sequence, std::string_view note,
                   const WriteBytes& write) {
  const std::string model = printable_path(session.model().file().path());
  if (const std::string why = session.why_not_saved(sequence); !why.empty())
    session.mixes_lora_scales(sequence) ? fail<ValueError>("{}: {}", model, why)
                                        : fail<UnsupportedError>("{}: {}", model, why);
  const SequenceOrigin origin = origin_of(session, sequence);
  Writer writer(write);
  writer.bytes(std::as_bytes(std::span(kSequenceMagic)));
  for (const std::uint64_t n : origin.numbers()) writer.number(n);
  const std::vector<std::int32_t> tokens =
      held_tokens(session, sequence, 0, session.length(sequence));
  writer.number(tokens.size());
  writer.bytes(std::as_bytes(std::span(tokens)));
  writer.block(std::as_bytes(std::span(note)));
  const std::size_t n_states = run::n_states(session);
  const run::SavedRange everything{.end = session.length(sequence)};
  writer.number(n_states);
  for (std::size_t i = 0; i < n_states; ++i) {
    const SavedShape shape = run::saved_shape(session, sequence, i, everything);
    writer.number(shape.lengths.size());
    writer.bytes(std::as_bytes(std::span(shape.lengths)));
    writer.number(static_cast<std::uint64_t>(shape.n_bytes));
    run::save_state(session, sequence, i, everything,
                    [&](std::span<const std::byte> bytes) { writer.bytes(bytes); });
  }
  writer.end();
}

void save_sequence(const Session& session, std::int32_t sequence, std::string_view note,
                   const std::string& path) {
  std::optional<OutputFile> file;
  const auto write = [&](std::span<const std::byte> bytes) {
    if (!file) file.emplace(path, Readers::owner);  // not before the arguments were checked
    file->write(bytes);
  };
  save_sequence(session, sequence, note, write);
  file->commit();
}

SavedSequence SavedSequence::parse(std::span<const std::byte> bytes, const std::string& name) {
  gguf::Cursor cursor(checked(bytes, name), name);
  SavedSequence s;
  s.name_ = name;
  cursor.take(kSequenceMagic.size(), 1, kSequenceMagic);
  const std::string_view magic = start_of(bytes, kSequenceMagic.size());
  s.has_origin_ = magic != kFirstSequenceMagic;
  if (s.has_origin_) {
    auto numbers = s.origin_.numbers();
    for (std::uint64_t& n : numbers) n = cursor.read<std::uint64_t>("origin");
    s.origin_.set_numbers(numbers);
  } else {
    cursor.read<std::uint64_t>("fingerprint");
  }
  const auto n_tokens = cursor.read<std::uint64_t>("number of tokens");
  const auto tokens = cursor.take(n_tokens, sizeof(std::int32_t), "tokens");
  s.tokens_.resize(static_cast<std::size_t>(n_tokens));
  if (!tokens.empty()) std::memcpy(s.tokens_.data(), tokens.data(), tokens.size());
  const auto note = read_block(cursor, "note");
  s.note_ = {reinterpret_cast<const char*>(note.data()), note.size()};
  const auto n_states = cursor.read<std::uint64_t>("number of states");
  cursor.require(n_states, sizeof(std::uint64_t), "states");
  for (std::uint64_t i = 0; i < n_states; ++i) {
    SavedState& state = s.states_.emplace_back();
    if (magic == kSequenceMagic) state.lengths = read_lengths(cursor, n_tokens);
    state.pieces = {read_block(cursor, "cells")};
  }
  if (cursor.remaining() > 0) cursor.fail_here("{} bytes follow the states", cursor.remaining());
  return s;
}

bool SavedSequence::is_saved_sequence(const std::string& path) {
  const MappedFile file(path);
  return start_of(file.bytes(), kSequenceMagic.size()).starts_with(kAnySequenceMagic);
}

SavedSequence SavedSequence::open(const std::string& path) {
  auto file = std::make_shared<const MappedFile>(path);
  SavedSequence s = parse(file->bytes(), path);
  if (file->failed()) refuse_missing_pages(path);
  s.file_ = std::move(file);
  return s;
}

std::string SavedSequence::why_not(const Session& session, std::int32_t sequence) const {
  if (has_origin_) return difference(origin_, session, sequence);
  return fmt::format("was saved by another version of Weft: it starts with '{}', expected '{}'",
                     kFirstSequenceMagic, kSequenceMagic);
}

void SavedSequence::restore(Session& session, std::int32_t sequence, std::int64_t n_tokens) const {
  if (const std::string why = why_not(session, sequence); !why.empty())
    fail<ValueError>("{}: {}", printable_path(name_), why);
  if (n_tokens < 0 || n_tokens > std::ssize(tokens_))
    fail<ValueError>("{}: holds {} tokens, {} were requested", printable_path(name_),
                     tokens_.size(), n_tokens);
  try {
    run::restore_states(session, sequence, n_tokens, tokens_, states_);
    if (file_ && file_->failed()) {
      session.truncate(sequence, 0);
      refuse_missing_pages(name_);
    }
  } catch (const FormatError& e) {
    fail<FormatError>("{}: {}", printable_path(name_), e.what());
  }
}

std::int64_t SavedSequence::resume_point(const Session& session, std::int64_t n_tokens) const {
  return run::resume_point_of_saved(session, n_tokens, std::ssize(tokens_), states_);
}

}  // namespace weft
