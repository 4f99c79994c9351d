// Messages between processes by MPI: only sends and receives of two ranks, no collectives, so that
// Weft alone determines the order of sums.

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

// The headers of both MPIs declare C++ interfaces that they no longer support.
#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include "weft/scheduler/transport_abi.h"

namespace mpi {
namespace {

using Status = weft_transport_status;

// Tags of messages. Those of channels are the channels' numbers.
constexpr int kLostTag = WEFT_TRANSPORT_CHANNELS;
constexpr std::size_t kLongestReason = 1024;
constexpr std::int64_t kNotArrived = -1, kOnItsWay = -2;  // results of arrived()
// How long close() takes messages of the others and waits until they have ended.
constexpr std::chrono::seconds kCloseLimit{10}, kCloseLimitIfGivenUp{2};

std::string error_text;

Status failed(const char* doing, int code) {
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int n = 0;
  MPI_Error_string(code, text, &n);
  error_text = std::string(doing) + ": " + text;
  return WEFT_TRANSPORT_FAILED;
}

// A buffer for a message that is under way, and for later ones.
struct Parcel {
  std::unique_ptr<std::byte[]> bytes;
  std::size_t capacity = 0;
  MPI_Request request = MPI_REQUEST_NULL;
};

// The next message of a rank on a channel, whose sender may stop in the middle of it.
struct Incoming {
  Parcel parcel;
  int n = -1;  // bytes; below 0: there is none
  bool complete = false;
};

using Counts = std::array<std::int64_t, WEFT_TRANSPORT_CHANNELS>;

struct World {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 0;
  bool is_owner = false;           // whether MPI ends with this library
  std::vector<Parcel> under_way;   // sent, perhaps not arrived
  std::vector<Incoming> incoming;  // by rank, then channel
  std::vector<Parcel> idle;
  std::vector<Counts> sent, taken;  // messages, by rank
  std::vector<char> is_lost;        // by rank
  std::vector<Counts> sent_before;  // by rank: what it had sent when it was lost
  std::vector<std::chrono::steady_clock::time_point> lost_since;
  std::vector<std::string> reasons;     // by rank, of those that are lost
  bool told = false;                    // whether the others know that this rank is lost
  std::vector<std::string> last_words;  // by rank: what it is told
  std::vector<MPI_Request> tellings;
};
// Never destroyed: MPI may still read what is under way when the process ends.
World& world = *new World;

// Makes the parcels idle whose messages have arrived, or are MPI's.
int complete_sends() {
  for (std::size_t i = 0; i < world.under_way.size();) {
    int done = 0;
    if (const int code = MPI_Test(&world.under_way[i].request, &done, MPI_STATUS_IGNORE))
      return code;
    if (!done) {
      ++i;
      continue;
    }
    std::swap(world.under_way[i], world.under_way.back());
    world.idle.push_back(std::move(world.under_way.back()));
    world.under_way.pop_back();
  }
  return MPI_SUCCESS;
}

// The smallest idle parcel that is large enough, or a new one. Capacities are powers of two, so
// that messages of similar sizes share parcels.
Parcel take_parcel(std::size_t n_bytes) {
  const std::size_t capacity = std::bit_ceil(std::max<std::size_t>(n_bytes, 64));
  auto best = world.idle.end();
  for (auto it = world.idle.begin(); it != world.idle.end(); ++it) {
    if (it->capacity >= capacity && (best == world.idle.end() || it->capacity < best->capacity))
      best = it;
  }
  if (best == world.idle.end())
    return {std::unique_ptr<std::byte[]>(new std::byte[capacity]), capacity};
  Parcel parcel = std::move(*best);
  std::swap(*best, world.idle.back());
  world.idle.pop_back();
  return parcel;
}

// Receives the last message of a rank if it has arrived: how many it has sent before, which MPI may
// show later than this one if they are large, and why it is lost.
int look_for_loss(int from) {
  const auto i = static_cast<std::size_t>(from);
  if (world.is_lost[i]) return MPI_SUCCESS;
  int flag = 0;
  MPI_Status status;
  if (const int code = MPI_Iprobe(from, kLostTag, world.comm, &flag, &status)) return code;
  if (!flag) return MPI_SUCCESS;
  int n = 0;
  MPI_Get_count(&status, MPI_CHAR, &n);
  std::string words(static_cast<std::size_t>(std::max(n, 0)), '\0');
  if (const int code =
          MPI_Recv(words.data(), n, MPI_CHAR, from, kLostTag, world.comm, MPI_STATUS_IGNORE))
    return code;
  if (words.size() >= sizeof(Counts)) {
    std::memcpy(world.sent_before[i].data(), words.data(), sizeof(Counts));
    world.reasons[i] = words.substr(sizeof(Counts));
  }
  world.is_lost[i] = 1;
  world.lost_since[i] = std::chrono::steady_clock::now();
  return MPI_SUCCESS;
}

bool is_other_rank(int32_t rank, uint32_t channel) {
  if (rank >= 0 && rank < world.size && rank != world.rank && channel < WEFT_TRANSPORT_CHANNELS)
    return true;
  error_text = "there is no rank " + std::to_string(rank) + " with a channel " +
               std::to_string(channel) + " besides rank " + std::to_string(world.rank) + " of " +
               std::to_string(world.size);
  return false;
}

const char* last_error() {
  return error_text.c_str();
}

// "Open MPI v4.1.4, package: ..." and "MPICH Version:\t4.0.2\n...": their first words.
void library_name(char* name, std::size_t capacity) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = {};
  int n = 0;
  MPI_Get_library_version(text, &n);
  std::string words(text);
  words.resize(std::min(words.size(), words.find_first_of(",\n")));
  if (const auto at = words.find(" Version:"); at != std::string::npos) words.erase(at, 9);
  std::ranges::replace(words, '\t', ' ');
  std::snprintf(name, capacity, "%s", words.c_str());
}

Status start_mpi() {
  int initialized = 0, provided = 0;
  MPI_Initialized(&initialized);
  if (initialized) {
    MPI_Query_thread(&provided);
  } else {
    if (const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided))
      return failed("MPI_Init_thread", code);
    world.is_owner = true;
  }
  if (provided >= MPI_THREAD_SERIALIZED) return WEFT_TRANSPORT_OK;
  error_text =
      "this MPI was built or started without MPI_THREAD_SERIALIZED: it can be called by "
      "one thread only";
  return WEFT_TRANSPORT_FAILED;
}

Status open(weft_transport_world* result) {
  if (world.comm != MPI_COMM_NULL) {
    error_text = "it is open already";
    return WEFT_TRANSPORT_FAILED;
  }
  if (const Status status = start_mpi()) return status;
  if (const int code = MPI_Comm_dup(MPI_COMM_WORLD, &world.comm))
    return failed("MPI_Comm_dup", code);
  MPI_Comm_set_errhandler(world.comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(world.comm, &world.rank);
  MPI_Comm_size(world.comm, &world.size);
  world.incoming.resize(static_cast<std::size_t>(world.size) * WEFT_TRANSPORT_CHANNELS);
  world.is_lost.resize(static_cast<std::size_t>(world.size));
  world.lost_since.resize(static_cast<std::size_t>(world.size));
  world.reasons.resize(static_cast<std::size_t>(world.size));
  world.tellings.resize(static_cast<std::size_t>(world.size), MPI_REQUEST_NULL);
  for (std::vector<Counts>* counts : {&world.sent, &world.taken, &world.sent_before})
    counts->resize(static_cast<std::size_t>(world.size));
  world.last_words.resize(static_cast<std::size_t>(world.size));
  for (std::string& words : world.last_words) words.reserve(sizeof(Counts) + kLongestReason);
  result->rank = world.rank;
  result->size = world.size;
  library_name(result->name, sizeof(result->name));
  return WEFT_TRANSPORT_OK;
}

Status lost(int32_t rank) {
  error_text = world.reasons[static_cast<std::size_t>(rank)];
  return WEFT_TRANSPORT_LOST;
}

// Whether a rank that is lost has sent more than was taken: it does so for as long as close()
// waits.
bool still_sends(int from, uint32_t channel) {
  const auto i = static_cast<std::size_t>(from);
  return world.sent_before[i][channel] > world.taken[i][channel] &&
         std::chrono::steady_clock::now() < world.lost_since[i] + kCloseLimit;
}

Status send(int32_t to, uint32_t channel, const void* bytes, int64_t n_bytes) {
  if (!is_other_rank(to, channel)) return WEFT_TRANSPORT_FAILED;
  if (n_bytes < 0 || n_bytes > INT_MAX) {
    error_text = "a message has " + std::to_string(n_bytes) + " bytes, expected at most " +
                 std::to_string(INT_MAX);
    return WEFT_TRANSPORT_FAILED;
  }
  if (const int code = complete_sends()) return failed("completing earlier messages", code);
  if (const int code = look_for_loss(to)) return failed("MPI_Iprobe", code);
  if (world.is_lost[static_cast<std::size_t>(to)]) return lost(to);
  Parcel parcel = take_parcel(static_cast<std::size_t>(n_bytes));
  if (n_bytes > 0) std::memcpy(parcel.bytes.get(), bytes, static_cast<std::size_t>(n_bytes));
  const int code = MPI_Isend(parcel.bytes.get(), static_cast<int>(n_bytes), MPI_BYTE, to,
                             static_cast<int>(channel), world.comm, &parcel.request);
  if (code) return failed("MPI_Isend", code);
  world.under_way.push_back(std::move(parcel));
  ++world.sent[static_cast<std::size_t>(to)][channel];
  return WEFT_TRANSPORT_OK;
}

Incoming& incoming_of(int from, uint32_t channel) {
  return world.incoming[static_cast<std::size_t>(from) * WEFT_TRANSPORT_CHANNELS + channel];
}

// Makes room for the next message.
void release(Incoming& in) {
  world.idle.push_back(std::move(in.parcel));
  in = {};
}

// Begins to receive the next message if there is one, and looks whether all of it is there.
int look_for_message(int from, uint32_t channel) {
  Incoming& in = incoming_of(from, channel);
  if (in.n < 0) {
    int flag = 0;
    MPI_Message message;
    MPI_Status status;
    if (const int code =
            MPI_Improbe(from, static_cast<int>(channel), world.comm, &flag, &message, &status))
      return code;
    if (!flag) return MPI_SUCCESS;
    MPI_Get_count(&status, MPI_BYTE, &in.n);
    in.parcel = take_parcel(static_cast<std::size_t>(in.n));
    if (const int code =
            MPI_Imrecv(in.parcel.bytes.get(), in.n, MPI_BYTE, &message, &in.parcel.request))
      return code;
  }
  int done = in.complete;
  const int code = done ? MPI_SUCCESS : MPI_Test(&in.parcel.request, &done, MPI_STATUS_IGNORE);
  in.complete = done != 0;
  return code;
}

Status arrived(int32_t from, uint32_t channel, int64_t* n_bytes) {
  *n_bytes = kNotArrived;
  if (!is_other_rank(from, channel)) return WEFT_TRANSPORT_FAILED;
  const Incoming& in = incoming_of(from, channel);
  if (const int code = look_for_message(from, channel)) return failed("MPI_Imrecv", code);
  if (!in.complete) {
    if (const int code = complete_sends()) return failed("completing earlier messages", code);
    if (in.n >= 0 || !world.under_way.empty()) *n_bytes = kOnItsWay;
    if (const int code = look_for_loss(from)) return failed("MPI_Iprobe", code);
    if (!world.is_lost[static_cast<std::size_t>(from)]) return WEFT_TRANSPORT_OK;
    // What it sent before may be there by now, even if it was not at the first look.
    if (const int code = look_for_message(from, channel)) return failed("MPI_Imrecv", code);
    if (!in.complete && !still_sends(from, channel)) return lost(from);
  }
  if (in.complete) *n_bytes = in.n;
  return WEFT_TRANSPORT_OK;
}

Status take(int32_t from, uint32_t channel, void* bytes, int64_t n_bytes) {
  if (!is_other_rank(from, channel)) return WEFT_TRANSPORT_FAILED;
  Incoming& in = incoming_of(from, channel);
  if (!in.complete || in.n != n_bytes) {
    error_text = "no message of " + std::to_string(n_bytes) + " bytes has arrived";
    return WEFT_TRANSPORT_FAILED;
  }
  if (n_bytes > 0) std::memcpy(bytes, in.parcel.bytes.get(), static_cast<std::size_t>(n_bytes));
  release(in);
  ++world.taken[static_cast<std::size_t>(from)][channel];
  return WEFT_TRANSPORT_OK;
}

void abandon(const char* why) {
  if (world.comm == MPI_COMM_NULL || world.told) return;
  world.told = true;
  for (int to = 0; to < world.size; ++to) {
    if (to == world.rank) continue;
    const auto i = static_cast<std::size_t>(to);
    std::string& words = world.last_words[i];
    words.assign(reinterpret_cast<const char*>(world.sent[i].data()), sizeof(Counts));
    words.append(why, strnlen(why, kLongestReason));
    MPI_Isend(words.data(), static_cast<int>(words.size()), MPI_CHAR, to, kLostTag, world.comm,
              &world.tellings[i]);
  }
}

// Whether all that this rank sent has arrived.
bool all_sent() {
  if (complete_sends()) return false;
  int told = 0;
  const int code = MPI_Testall(world.size, world.tellings.data(), &told, MPI_STATUSES_IGNORE);
  return !code && told && world.under_way.empty();
}

// Takes messages that nobody waits for any more. False: one of them has not arrived completely.
bool discard_messages() {
  bool complete = true;
  for (std::size_t i = 0; i < world.incoming.size(); ++i) {
    const auto from = static_cast<int>(i / WEFT_TRANSPORT_CHANNELS);
    Incoming& in = world.incoming[i];
    if (from == world.rank || look_for_loss(from)) continue;
    while (!look_for_message(from, i % WEFT_TRANSPORT_CHANNELS) && in.complete) release(in);
    complete &= in.n < 0;
  }
  return complete;
}

// Messages that nobody took could keep the rank that sent them from ending, so they are taken.
// MPI_Finalize() waits for all others, without a limit. A rank that has done its work may wait for
// those that still compute, as the launcher does. A rank that gave up must not wait for one that
// hangs, nor any rank for messages that nobody takes: it ends without MPI_Finalize(), and the
// launcher ends the others.
void end_mpi() {
  const bool gave_up = world.told;
  abandon("it ended");
  const auto end =
      std::chrono::steady_clock::now() + (gave_up ? kCloseLimitIfGivenUp : kCloseLimit);
  bool quiet = false, ended = false;  // nothing is under way; the others have ended
  while (!(quiet && ended) && std::chrono::steady_clock::now() < end) {
    quiet = discard_messages();
    quiet &= all_sent();
    ended = std::ranges::count(world.is_lost, 1) == world.size - 1;
    if (!(quiet && ended)) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  if (quiet && (ended || !gave_up)) {
    MPI_Comm_free(&world.comm);
    if (world.is_owner) MPI_Finalize();
  }
}

void close() {
  if (world.comm == MPI_COMM_NULL) return;
  try {
    end_mpi();
  } catch (const std::exception&) {  // no memory: the process ends without MPI_Finalize()
  }
  world.comm = MPI_COMM_NULL;
}

// No exception leaves the library.
template <auto kCall, class... Args>
Status guarded(Args... args) {
  try {
    return kCall(args...);
  } catch (const std::exception& error) {
    error_text = error.what();
    return WEFT_TRANSPORT_FAILED;
  }
}

constexpr weft_transport kTable{.struct_size = sizeof(weft_transport),
                                .abi_version = WEFT_TRANSPORT_VERSION,
                                .last_error = last_error,
                                .open = guarded<open>,
                                .send = guarded<send>,
                                .arrived = guarded<arrived>,
                                .take = guarded<take>,
                                .abandon = abandon,
                                .close = close};

}  // namespace
}  // namespace mpi

const weft_transport* weft_transport_entry(uint32_t abi_version) {
  return abi_version == WEFT_TRANSPORT_VERSION ? &mpi::kTable : nullptr;
}
