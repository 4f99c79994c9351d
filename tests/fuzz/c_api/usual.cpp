// Objects as most programs open them, for functions that need one when there is none.

#include <iterator>

#include "c_api/world.h"

namespace weft_fuzz {
namespace {

template <class Handle>
Handle* existing(World& w) {
  return static_cast<Handle*>(w.usual_handle(TypeOf<Handle>::kType));
}

void* detokenizer(World&) {
  weft_detokenizer* opened = nullptr;
  weft_detokenizer_open(stories(), 0, &opened, nullptr);
  return opened;
}
void* grammar(World&) {
  weft_grammar* opened = nullptr;
  weft_grammar_open(WEFT_GRAMMAR_REGEX, "[ -~]*", 6, nullptr, &opened, nullptr);
  return opened;
}
void* constraint(World& w) {
  weft_constraint* opened = nullptr;
  weft_constraint_open(existing<weft_grammar>(w), stories(), &opened, nullptr);
  return opened;
}
void* sampler(World&) {
  weft_sampler* opened = nullptr;
  weft_sampler_open(nullptr, &opened, nullptr);
  return opened;
}
void* saved(World& w) {
  auto* session = existing<weft_session>(w);
  std::int64_t length = 0;
  weft_session_get_length(session, 0, &length, nullptr);
  const weft_token tokens[64] = {};
  weft_text bytes{};
  weft_saved* opened = nullptr;
  if (length < 64 && weft_session_save(session, 0, tokens, static_cast<std::size_t>(length), "n", 1,
                                       &bytes, nullptr) == WEFT_SUCCESS)
    weft_saved_open_memory(bytes.data, bytes.size, &opened, nullptr);
  weft_text_free(&bytes);
  return opened;
}
void* generation(World& w) {
  weft_generation* opened = nullptr;
  weft_generation_open(existing<weft_session>(w), 0, nullptr, &opened, nullptr);
  weft_generation_begin_text(opened, "Once upon", 9, nullptr);
  return opened;
}
void* batch(World& w) {
  weft_batch* opened = nullptr;
  weft_batch_open(existing<weft_session>(w), &opened, nullptr);
  return opened;
}
void* chat(World&) {
  weft_chat* opened = nullptr;
  weft_chat_open(stories(), nullptr, &opened, nullptr);
  return opened;
}
void* chat_plan(World& w) {
  weft_chat_turn turn;
  weft_chat_turn_init(&turn, sizeof turn);
  turn.messages = R"([{"role": "user", "content": "Hi"}])";
  turn.tools = R"([{"type": "function", "function": {"name": "f", "parameters": {}}}])";
  weft_chat_plan* opened = nullptr;
  weft_chat_plan_open(existing<weft_chat>(w), &turn, &opened, nullptr);
  return opened;
}
void* reply(World& w) {
  weft_reply* opened = nullptr;
  weft_reply_open(existing<weft_chat_plan>(w), &opened, nullptr);
  return opened;
}
void* conversation(World& w) {
  weft_conversation_options options;
  weft_conversation_options_init(&options, sizeof options);
  options.max_reply = 4;
  weft_conversation* opened = nullptr;
  weft_conversation_open(existing<weft_session>(w), 1, &options, &opened, nullptr);
  return opened;
}
void* embedder(World&) {
  weft_session_options session;
  weft_session_options_init(&session, sizeof session);
  session.context = 32, session.prefill_width = 8, session.workers = 1;
  weft_embedder_options options;
  weft_embedder_options_init(&options, sizeof options);
  options.session = &session;
  weft_embedder* opened = nullptr;
  weft_embedder_open(stories(), &options, &opened, nullptr);
  return opened;
}
// y [T, 2] = silu(x [T, 2]) * w [2].
void* graph(World&) {
  weft_graph* opened = nullptr;
  weft_dim dims[2] = {{}, {.bound = 2}};
  weft_tensor_id x = -1, w = -1, y = -1;
  weft_graph_open(&opened, nullptr);
  weft_graph_variable(opened, "T", 4, dims, nullptr);
  weft_graph_input(opened, "x", "F32", dims, 2, &x, nullptr);
  weft_graph_weight(opened, "w", "F32", dims + 1, 1, &w, nullptr);
  weft_graph_op(opened, "silu", &x, 1, nullptr, 0, &y, nullptr);
  const weft_tensor_id both[] = {y, w};
  weft_graph_op(opened, "mul", both, 2, nullptr, 0, &y, nullptr);
  weft_graph_output(opened, "y", y, nullptr);
  return opened;
}
void* computation(World& w) {
  weft_computation_options options;
  weft_computation_options_init(&options, sizeof options);
  options.workers = 1;
  weft_computation* opened = nullptr;
  weft_computation_open(existing<weft_graph>(w), &options, &opened, nullptr);
  const float ones[] = {1, 1};
  weft_computation_set_weight(opened, "w", ones, sizeof ones, nullptr);
  return opened;
}
void* diffusion(World& w) {
  weft_diffusion* opened = nullptr;
  weft_diffusion_open(existing<weft_session>(w), 0, nullptr, &opened, nullptr);
  return opened;  // NULL: the model is none that diffuses
}
void* canceller(World&) {
  weft_canceller* opened = nullptr;
  weft_canceller_open(&opened, nullptr);
  return opened;
}
void* model(World&) {
  return stories();
}
void* session(World&) {
  return shared_session();
}

}  // namespace

void* World::usual(Type type) {
  using Open = void* (*)(World&);
#define WEFT_FUZZ_OPEN(name) name,
  static constexpr Open kOpen[] = {WEFT_FUZZ_HANDLES(WEFT_FUZZ_OPEN)};
#undef WEFT_FUZZ_OPEN
  const auto i = static_cast<std::size_t>(type);
  return i < std::size(kOpen) ? kOpen[i](*this) : nullptr;
}

void* World::usual_handle(Type type) {
  if (live(type).empty()) {
    if (void* const opened = usual(type)) add(type, opened);
  }
  return live(type).empty() ? nullptr : live(type).back();
}

}  // namespace weft_fuzz
