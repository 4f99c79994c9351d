#pragma once
// How the ranks of one model exchange bytes: messages from rank to rank, in order, on channels that
// do not wait for each other. Ranks are threads of this process, or processes on several machines
// whose bytes MPI carries. What is summed up of these messages, and in which order, is computed
// here (collectives.h) and not by MPI, so that both give the same bits.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/error.h"

namespace weft {

// A rank was lost, did not answer in time, or sent what was not expected. The message names it.
class RankError : public Error {
 public:
  RankError(int rank, const std::string& message) : Error(message), rank_(rank) {}
  int rank() const { return rank_; }

 private:
  int rank_;
};

enum class Channel : std::uint8_t {
  control,  // what to do next, and how it went
  data,     // tensors of a step
  credit,   // that a tensor was taken
};
inline constexpr int kChannels = 3;

// Results of Communicator::arrived() when no message has arrived.
inline constexpr std::int64_t kNotArrived = -1, kOnItsWay = -2;

// The endpoint of one rank. One thread at a time, except that abandon() may be called by any.
class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;                      // ranks, at least 1
  virtual std::string_view description() const = 0;  // "in process", "Open MPI v4.1.4"

  // Sends a copy of the bytes, and returns before they arrive. Allocates only if more bytes are on
  // their way than ever before. Throws RankError, also if that rank is known to be lost. REQUIRES:
  // `to` is another rank.
  virtual void send(int to, Channel channel, std::span<const std::byte> bytes) = 0;

  // The size of the next message of this channel from that rank; kNotArrived, or kOnItsWay if
  // messages from or to this rank are under way, which only arrive if they are looked for. Throws
  // RankError "rank 2 is lost: out of memory" if none can arrive any more: what a rank sent before
  // it was lost arrives first.
  virtual std::int64_t arrived(int from, Channel channel) = 0;
  // Takes the next message. REQUIRES: arrived() returned the size of `bytes`.
  virtual void take(int from, Channel channel, std::span<std::byte> bytes) = 0;

  // Makes every other rank fail that waits for a message of this one now or later, as far as it can
  // be told: the end of a rank that cannot go on. Does not throw.
  virtual void abandon(const std::string& why) noexcept = 0;

  // Waits for the next message and takes it. Throws RankError "rank 2 sent 12 bytes, expected 16",
  // "rank 2 did not answer within 30 s". While waiting, `poll` is called about every 50 ms, if it
  // is not empty, and may throw. `seconds` <= 0: no limit.
  void receive(int from, Channel channel, std::span<std::byte> bytes, double seconds,
               const std::function<void()>& poll = {});
  // The same for a message of any size.
  std::vector<std::byte> receive(int from, Channel channel, double seconds,
                                 const std::function<void()>& poll = {});
  // Waits until arrived() has the size of a message, and returns it. Throws likewise.
  std::int64_t wait(int from, Channel channel, double seconds,
                    const std::function<void()>& poll = {});

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point next_poll_;
};

// The endpoints of n ranks in this process, one for each thread that runs a rank. A rank whose
// endpoint is destroyed is lost to the others. Throws ValueError unless 1 <= n <= 1024.
std::vector<std::unique_ptr<Communicator>> in_process_communicators(int n);

// The number of ranks that the launcher of MPI (mpirun, srun) started, by its environment
// variables; 1: this program was started alone. Throws ValueError if they are not numbers.
int launched_ranks();
// The endpoint of this process among those that were started together, from the library for the MPI
// whose launcher started it: weft-openmpi.so or weft-mpich.so. It is looked for in WEFT_MPI_PATH (a
// folder, or the library itself), beside the program, in ../plugins, ../lib/weft, ../lib64/weft and
// ../lib/*/weft. Opened by the first call, which all ranks must make; closed when the process ends.
// Throws UnsupportedError that says what to install if the library is missing or cannot be loaded,
// or if no launcher started this program.
Communicator& launched_communicator();
// Every wait of this process for a message of another process ends with RankError, now and later.
// The library does this on SIGTERM; this function is for programs that block that signal. Any
// thread may call it.
void end_waits() noexcept;

}  // namespace weft
