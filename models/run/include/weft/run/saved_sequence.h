#pragma once
// One sequence of a session in a file: its tokens with what it keeps of them, so that a prompt or a
// conversation goes on where it was without being computed again, with the same bits.
//
// The file, little-endian: "weftseq1"; u64 fingerprint of the session (below); u64 n, i32[n]
// tokens; u64 length and bytes of a note, which belongs to the program that saved it; u64 number of
// states, then per state u64 length and its bytes (Session::save); XXH3-64 of all before it.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/run/session.h"

namespace weft {

class MappedFile;

// What keys and values depend on: metadata of the model, names, types, shapes and a sample of the
// bytes of its tensors, the kernels that compute it here, the types of the caches. Differs between
// machines of other instruction sets, whose bits differ.
std::uint64_t fingerprint(const Session& session);

// Writes what the sequence holds. `tokens` are the ones that were fed to it; the file appears when
// it is complete (OutputFile). Throws ValueError where their number is not the sequence's length,
// IoError.
void save_sequence(Session& session, std::int32_t sequence, std::span<const std::int32_t> tokens,
                   std::string_view note, const std::string& path);

// Such a file, mapped and checked. Immutable.
class SavedSequence {
 public:
  // Whether the file begins like one. Throws IoError where it cannot be read.
  static bool is_saved_sequence(const std::string& path);
  // Throws IoError; UnsupportedError where the file is of another kind or version; FormatError
  // where a byte of it has changed.
  static SavedSequence open(const std::string& path);
  // The same checks over bytes that outlive the object; `name` stands for the path in messages.
  static SavedSequence parse(std::span<const std::byte> bytes, const std::string& name);

  std::span<const std::int32_t> tokens() const { return tokens_; }
  std::string_view note() const { return note_; }
  const std::string& name() const { return name_; }  // the path, for messages

  // Made by such a session: same fingerprint.
  bool fits(const Session& session) const;

  // The sequence then holds the first `n_tokens` of tokens(), whatever it held before. Throws
  // ValueError if the session does not fit, FormatError if the states are not as long as it needs
  // them, ValueError if its context is shorter, UnsupportedError if n_tokens is no resume point,
  // BudgetError if it has no room: the sequence then is as it was.
  void restore(Session& session, std::int32_t sequence, std::int64_t n_tokens) const;
  // The largest number of tokens up to n_tokens that restore() can make: n_tokens itself, but for
  // models whose memory forgets (Session::resume_point). REQUIRES: the session fits.
  std::int64_t resume_point(const Session& session, std::int64_t n_tokens) const;

 private:
  std::shared_ptr<const MappedFile> file_;  // null after parse()
  std::string name_;
  std::uint64_t fingerprint_ = 0;
  std::vector<std::int32_t> tokens_;
  std::string_view note_;
  std::vector<std::span<const std::byte>> states_;
};

}  // namespace weft
