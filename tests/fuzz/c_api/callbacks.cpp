// The caller's functions: they use the library too, cancel, fail and throw.

#include <cstdlib>
#include <stdexcept>

#include "c_api/structs.h"

namespace weft_fuzz {
namespace {

// Calls another function, or leaves by an exception. A call may end calls, or be any.
bool run_nested_calls(void (*call)() = call_any, int calls = 1) {
  World& w = world();
  const char* const outer = current_function;
  ++w.depth;
  if (w.depth < 3) {
    for (int i = 0; i < calls && !w.done(); ++i) call();
  }
  --w.depth;
  current_function = outer;
  const std::uint8_t b = w.byte();
  if (b == 253) throw 1;
  if (b == 254) throw std::runtime_error("of a callback");
  return b < 224;
}

weft_status result(bool ok, weft_error** error) {
  if (ok) return WEFT_SUCCESS;
  const auto status = static_cast<weft_status>(world().integer());
  return world().byte() % 2 ? weft_error_make(status, "of a callback", error) : status;
}

// Of workers, so that the input cannot choose.
weft_status compute(void* /*user*/, const weft_array* /*inputs*/, std::size_t /*n*/,
                    const weft_value* /*attributes*/, std::size_t n_attributes, weft_array* output,
                    weft_error** error) {
  if (n_attributes == 2) return weft_error_make(WEFT_ERROR_NAN, "of an op", error);
  if (n_attributes == 3) throw 1;
  auto* row = static_cast<char*>(output->data);
  for (std::int64_t i = 0; i < output->dims[0]; ++i, row += output->row_stride) *row = 0;
  return WEFT_SUCCESS;
}

weft_status infer(void* /*user*/, const weft_spec* inputs, std::size_t n,
                  const weft_value* /*attributes*/, std::size_t n_attributes, weft_spec* output,
                  weft_error** error) {
  if (n > 0) *output = inputs[0];
  const std::uint8_t b = n_attributes == 0 ? 0 : world().byte();
  if (b < 128) return WEFT_SUCCESS;
  output->rank = static_cast<std::int32_t>(world().integer());
  output->dims[0].bound = world().integer();
  output->dims[0].variable = static_cast<std::int32_t>(world().integer());
  return result(b < 224, error);
}

// Handles of callbacks are live during them only.
template <class Handle>
weft_status within(Handle* handle, void (*call)(), weft_error** error) {
  World& w = world();
  w.add(TypeOf<Handle>::kType, handle);
  bool ok = false;
  try {
    ok = run_nested_calls(call, 6);
  } catch (...) {
    w.drop(TypeOf<Handle>::kType, handle);
    throw;
  }
  w.drop(TypeOf<Handle>::kType, handle);
  return result(ok, error);
}

weft_status configure(void* /*user*/, weft_config* config, weft_error** error) {
  return within(config, call_config, error);
}

weft_status build(void* /*user*/, weft_builder* builder, weft_tensor_id* tensor,
                  weft_error** error) {
  const weft_status status = within(builder, call_builder, error);
  *tensor = static_cast<weft_tensor_id>(world().integer());
  return status;
}

}  // namespace

std::int32_t on_progress(void* /*user*/, double /*share*/) {
  return !run_nested_calls();
}
std::int32_t on_token_progress(void* /*user*/, std::int64_t /*done*/, std::int64_t /*total*/) {
  return !run_nested_calls();
}
void on_log(void* /*user*/, const char* line) {
  require(*line != '\0', "an empty line");
  run_nested_calls();
}
std::int32_t on_reply(void* /*user*/, const weft_reply_event* event) {
  require(event->text[event->text_size] == '\0', "a text without a NUL");
  return run_nested_calls() ? 0 : 1;
}
std::int32_t on_poll(void* /*user*/) {
  return run_nested_calls() ? 0 : 1;
}
weft_status on_choose(void* /*user*/, const weft_choice* choice, weft_token* token,
                      weft_error** error) {
  *token = 0;
  for (std::size_t i = 0; i < choice->n_logits; ++i) {
    if (choice->logits[i] > choice->logits[*token]) *token = static_cast<weft_token>(i);
  }
  if (world().byte() >= 224) *token = static_cast<weft_token>(world().integer());
  return result(run_nested_calls(), error);
}
void on_release(void* user) {
  std::free(user);
}

void register_callbacks() {
  const weft_architecture architecture{.struct_size = sizeof architecture,
                                       .flags = 0,
                                       .name = "fuzz_arch",
                                       .user = nullptr,
                                       .configure = configure,
                                       .build = build};
  const char* const names[] = {"x"};
  const weft_op op{.struct_size = sizeof op,
                   .n_inputs = 1,
                   .name = "fuzz_op",
                   .input_names = names,
                   .user = nullptr,
                   .infer = infer,
                   .compute = compute};
  require(weft_register_architecture(&architecture, nullptr) == WEFT_SUCCESS &&
              weft_register_op(&op, nullptr) == WEFT_SUCCESS,
          "not registered");
}

void fill(Frame& f, weft_op& o) {
  o.struct_size = sizeof o;
  o.name = f.c_string(Words::op);
  o.n_inputs = 1 + f.world.byte() % 2;
  const char** names = f.array<const char*>(2);
  names[0] = "x";
  names[1] = f.c_string_or_null(Words::name);
  o.input_names = names;
  o.flags = f.world.byte() % 2;
  o.infer = infer;
  o.compute = f.world.byte() < 240 ? compute : nullptr;
}

void fill(Frame& f, weft_architecture& o) {
  o.struct_size = sizeof o;
  o.flags = f.world.byte() % 32;
  o.name = f.c_string(Words::name);
  o.configure = f.world.byte() < 128 ? configure : nullptr;
  o.build = f.world.byte() < 240 ? build : nullptr;
}

}  // namespace weft_fuzz
