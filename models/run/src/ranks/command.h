#pragma once
// What rank 0 tells the others to do. Messages on Channel::control: a command, and what follows it.
// All ranks run the same build, so that structs are sent as they are. What rank 0 sends is checked
// all the same: a rank that is not what it seems ends the others with an error.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "weft/run/session.h"
#include "weft/scheduler/communicator.h"

namespace weft::run {

enum class CommandKind : std::int32_t {
  open,         // a session; text: its options
  close,        // a session
  step,         // tokens: StepToken[]
  truncate,     // numbers: sequence, length
  copy,         // numbers: from, to, length
  clear,        // numbers: sequence
  mark,         // numbers: sequence, length
  lora_scales,  // numbers: sequence; scales: float[]
  noise,        // numbers: sequence, length
  echo,         // numbers: a rank, which sends back that many messages, one by one
  leave,        // the end
};

struct Command {
  CommandKind kind = CommandKind::leave;
  std::int32_t session = 0;
  std::int32_t undo = 0;    // 1: the last step of this session failed; it leaves nothing behind
  std::int32_t verify = 0;  // step: also compare its nodes with their definitions
  std::int64_t numbers[3] = {};
};

// A message in a buffer that is used again and again.
class Message {
 public:
  template <class T>
  std::span<const std::byte> write(const Command& command, std::span<const T> more) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.resize(sizeof(command) + more.size_bytes());
    std::memcpy(bytes_.data(), &command, sizeof(command));
    if (!more.empty()) std::memcpy(bytes_.data() + sizeof(command), more.data(), more.size_bytes());
    return bytes_;
  }

 private:
  std::vector<std::byte> bytes_;
};

// Throws RankError if a message of rank 0 cannot be what follows a command.
inline void check_payload(std::size_t n_bytes, std::size_t item) {
  if (n_bytes % item != 0)
    throw RankError(0, fmt::format("rank 0 sent {} bytes after a command, expected items of {}",
                                   n_bytes, item));
}

// Copies what follows the command of a message. Keeps the memory of `values`. Throws RankError.
template <class T>
void read_payload(std::span<const std::byte> message, std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = message.subspan(sizeof(Command));
  check_payload(bytes.size(), sizeof(T));
  values.resize(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
}

// The tokens of a step. A `logits` that is neither true nor false would be no bool at all.
inline void read_tokens(std::span<const std::byte> message, std::vector<StepToken>& tokens) {
  const auto bytes = message.subspan(sizeof(Command));
  for (std::size_t at = offsetof(StepToken, logits); at < bytes.size(); at += sizeof(StepToken))
    if (bytes[at] > std::byte{1}) throw RankError(0, "rank 0 sent a step of wrong tokens");
  read_payload(message, tokens);
}

template <class T>
std::vector<T> payload(std::span<const std::byte> message) {
  std::vector<T> values;
  read_payload(message, values);
  return values;
}

}  // namespace weft::run
