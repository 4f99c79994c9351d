#pragma once
// What the calls of one input share: its bytes, handles, and how much work is left.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/weft.h"

namespace weft_fuzz {

// Types of handles and the functions that free them.
// clang-format off
#define WEFT_FUZZ_HANDLES(X) \
  X(model) X(detokenizer) X(grammar) X(constraint) X(sampler) X(session) X(saved) X(generation) \
  X(batch) X(chat) X(chat_plan) X(reply) X(conversation) X(embedder) X(graph) X(computation) \
  X(canceller) X(diffusion)
// clang-format on
// Handles that exist during a callback.
#define WEFT_FUZZ_PASSED_HANDLES(X) X(config) X(builder)

enum class Type : std::size_t {
#define WEFT_FUZZ_TYPE(name) name,
  WEFT_FUZZ_HANDLES(WEFT_FUZZ_TYPE) WEFT_FUZZ_PASSED_HANDLES(WEFT_FUZZ_TYPE)
#undef WEFT_FUZZ_TYPE
      count
};

template <class T>
struct TypeOf {
  static constexpr bool kIsHandle = false;
};
#define WEFT_FUZZ_TYPE_OF(name)               \
  template <>                                 \
  struct TypeOf<weft_##name> {                \
    static constexpr bool kIsHandle = true;   \
    static constexpr Type kType = Type::name; \
  };
WEFT_FUZZ_HANDLES(WEFT_FUZZ_TYPE_OF)
WEFT_FUZZ_PASSED_HANDLES(WEFT_FUZZ_TYPE_OF)
#undef WEFT_FUZZ_TYPE_OF

// Where the texts of a call come from, mostly.
enum class Words : std::size_t {
  text,
  grammar,
  chat,
  op,
  dtype,
  name,
  path,
  session,
  architecture,
  count
};
std::span<const std::string> words(Words from);

class World {
 public:
  World(const std::uint8_t* data, std::size_t size) : data_(data, size) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();  // frees all handles

  bool done() const { return data_.empty() || work_ <= 0; }
  void spend(int work) { work_ -= work; }
  std::uint8_t byte();
  std::int64_t integer();
  double number();
  const std::string& word(Words from);

  // A handle of the type that is live, or one that is anything but that.
  void* handle(Type type);
  // The last one that is live, or one that is opened as most programs do; NULL for types that exist
  // in callbacks only.
  void* usual_handle(Type type);
  void add(Type type, void* handle) { live(type).push_back(handle); }
  void drop(Type type, void* handle);  // it was freed
  std::vector<void*>& live(Type type) { return live_[static_cast<std::size_t>(type)]; }

  // Bytes that a model may borrow, or a saved sequence.
  std::string bytes();
  void remember(std::string saved) { saved_ = std::move(saved); }

  int depth = 0;  // of calls in callbacks

 private:
  void* wrong_handle(Type type);
  void* usual(Type type);

  std::span<const std::uint8_t> data_;
  int work_ = 120;
  std::array<std::vector<void*>, static_cast<std::size_t>(Type::count)> live_;
  std::vector<void*> stale_;
  std::string saved_;
};

// The world of the input that runs, for callbacks.
World& world();
// The model that every input has, and that is never freed.
weft_model* stories();
// A handle of a session that no input frees, whose memory was empty at the beginning.
weft_session* shared_session();
// Bytes of a tiny GGUF file.
const std::string& tiny_model();

// Registers the architecture "fuzz_arch" and the op "fuzz_op".
void register_callbacks();

// Ends the process with a message if the library breaks its contract.
void require(bool ok, const char* what);

// One call of a function that the input chooses. Or of those that callbacks of architectures need.
void call_any();
void call_builder();
void call_config();
// The name of the function that is called, for messages.
extern const char* current_function;

}  // namespace weft_fuzz
