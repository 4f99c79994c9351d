#pragma once
// Flags of llama.cpp and ik_llama.cpp that people paste with a command, where the programs do not
// have them under that name. The one list of all programs.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cli {

enum class PeerFlagKind {
  renamed,  // another name of a flag of the programs that have it
  given,    // what it asks for is so anyway, or no concern of these programs
  ignored,  // it places or hastens work: dropped, with a note
  refused,  // it would change texts, or asks for something that the programs do not do
};

struct PeerFlag {
  std::string_view names;  // "-mg,--main-gpu"
  PeerFlagKind kind;
  int values;                      // 0, 1, or kSwitch: on, off or the like, or none
  std::string_view text;           // what it means here; of `renamed` the words that replace it
  std::string_view programs = "";  // "chat,generate": in these alone
};
// A refused switch may be off: the programs do not do what it asks for.
inline constexpr int kSwitch = -1;

// A flag may have several rows; the first that fits the program counts.
std::span<const PeerFlag> peer_flags();

// What a program knows about its own flags.
struct OwnFlags {
  std::string_view program;  // "chat", "weft serve", "bench"
  // How many words after the flag `name` are its values whatever they look like; -1: the program
  // does not have the flag.
  std::function<int(const std::string& name)> n_values;
};

// The arguments without flags that are accepted without effect, and with those of the program
// under its own names. Values of flags stay as they are. Appends to `notes` what was ignored.
// Throws UsageError for flags that are refused, for unknown ones with one dash and several letters
// ("-n64" is a flag with its value, "-ngld" is not), and for a flag that contradicts another one,
// as
// --no-mmap does --weights mapped.
std::vector<std::string> without_peer_flags(const std::vector<std::string>& arguments,
                                            const OwnFlags& own, std::vector<std::string>& notes);

}  // namespace weft::cli
