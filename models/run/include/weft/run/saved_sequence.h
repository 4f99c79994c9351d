#pragma once
// One sequence of a session in a file: its tokens and its memory. A prompt or a conversation can
// continue from it without being computed again, with the same bits.
//
// The file, little-endian: "weftseq3"; 4 u64 of SequenceOrigin, in its order; u64 n, i32[n] tokens;
// u64 length and bytes of a note for the program that saved it; u64 number of states, then
// per state u64 m, i64[m] numbers of tokens (SavedShape::lengths), u64 length and its bytes;
// XXH3-64 of everything before it. Files of version 2, "weftseq2", have no numbers of tokens: of
// recurrent layers, they have only the state at the end. Sessions continue from them. Files of
// version 1, "weftseq1", have one u64 instead of the origin. Their tokens and notes are read, but
// no session continues from them, because they do not identify their weights.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/run/session.h"

namespace weft {

class MappedFile;

// Everything that keys and values depend on. A sequence is only continued by a session for which
// all of it is the same.
struct SequenceOrigin {
  std::uint64_t kernels = 0;  // version of the bits that kernels give
  // The identity of the model with its adapters (weft/files/identity.h).
  std::uint64_t description = 0;
  std::uint64_t contents = 0;
  // A hash of the graph, with the types of caches and weights, of the backends of its plan and the
  // bits that their kernels give (Backend::bits_of), and of the scales of LoRAs.
  std::uint64_t computation = 0;

  // All members, in the order of files.
  std::array<std::uint64_t, 4> numbers() const {
    return {kernels, description, contents, computation};
  }
  void set_numbers(const std::array<std::uint64_t, 4>& n) {
    kernels = n[0], description = n[1], contents = n[2], computation = n[3];
  }
  friend bool operator==(const SequenceOrigin&, const SequenceOrigin&) = default;
};

// The origin of the states of a sequence. The first call for a model reads its weights
// (Identity::contents). Throws IoError.
SequenceOrigin origin_of(const Session& session, std::int32_t sequence);
// The difference between an origin and that of a sequence, for messages about a file: "was saved
// with another model than F: ..., expected ..."; empty if there is none. Reads weights only if
// everything else is the same. Throws IoError.
std::string difference(const SequenceOrigin& saved, const Session& session, std::int32_t sequence);

using WriteBytes = std::function<void(std::span<const std::byte>)>;
// Passes the bytes of such a file to `write`, piece by piece.
// Throws ValueError if the sequence mixes scales of LoRAs (Session::mixes_lora_scales); IoError;
// UnsupportedError for any other reason of Session::why_not_saved().
void save_sequence(const Session& session, std::int32_t sequence, std::string_view note,
                   const WriteBytes& write);
// The same in a file, which appears when it is complete (OutputFile).
void save_sequence(const Session& session, std::int32_t sequence, std::string_view note,
                   const std::string& path);

// A file with a saved sequence, mapped and checked. Immutable.
class SavedSequence {
 public:
  // Whether the file starts with the magic of one, of any version. Throws IoError if it cannot be
  // read.
  static bool is_saved_sequence(const std::string& path);
  // Throws IoError; UnsupportedError if the file is of another kind or of a version that is not
  // known; FormatError if it is damaged.
  static SavedSequence open(const std::string& path);
  // The same checks over bytes that outlive the object; `name` stands for the path in messages.
  static SavedSequence parse(std::span<const std::byte> bytes, const std::string& name);

  std::span<const std::int32_t> tokens() const { return tokens_; }
  std::string_view note() const { return note_; }
  const std::string& name() const { return name_; }  // the path, for messages

  // Why a sequence of the session cannot continue from this one, as difference(); empty if it can.
  std::string why_not(const Session& session, std::int32_t sequence = 0) const;

  // Replaces the contents of the sequence by the first `n_tokens` of tokens(). Throws ValueError if
  // why_not() says something or its context is too short, FormatError if the states have the
  // wrong length, UnsupportedError if n_tokens is not a resume point, BudgetError if there is no
  // room. After an exception the sequence is unchanged.
  void restore(Session& session, std::int32_t sequence, std::int64_t n_tokens) const;
  // The largest number of tokens up to n_tokens that restore() accepts: n_tokens itself, except for
  // models whose memory is limited (Session::resume_point). REQUIRES: why_not() is empty.
  std::int64_t resume_point(const Session& session, std::int64_t n_tokens) const;

 private:
  std::shared_ptr<const MappedFile> file_;  // null after parse()
  std::string name_;
  bool has_origin_ = true;  // false for version 1
  SequenceOrigin origin_;
  std::vector<std::int32_t> tokens_;
  std::string_view note_;
  std::vector<SavedState> states_;
};

}  // namespace weft
