// Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it.
#pragma once
// Classes of handles, and parts of the module.

#include "native.h"

namespace weft_python {

using Model = Handle<weft_model, weft_model_free, "model">;
using Detokenizer = Handle<weft_detokenizer, weft_detokenizer_free, "detokenizer">;
using Grammar = Handle<weft_grammar, weft_grammar_free, "grammar">;
using Constraint = Handle<weft_constraint, weft_constraint_free, "constraint">;
using Sampler = Handle<weft_sampler, weft_sampler_free, "sampler">;
using Session = Handle<weft_session, weft_session_free, "session">;
using Saved = Handle<weft_saved, weft_saved_free, "saved sequence">;
using Speculation = Handle<weft_speculation, weft_speculation_free, "speculation">;
using Generation = Handle<weft_generation, weft_generation_free, "text">;
using Batch = Handle<weft_batch, weft_batch_free, "batch">;
using Diffusion = Handle<weft_diffusion, weft_diffusion_free, "diffusion">;
using Chat = Handle<weft_chat, weft_chat_free, "chat">;
using ChatPlan = Handle<weft_chat_plan, weft_chat_plan_free, "plan">;
using Reply = Handle<weft_reply, weft_reply_free, "reply">;
using Embedder = Handle<weft_embedder, weft_embedder_free, "session">;
using Graph = Handle<weft_graph, weft_graph_free, "graph">;
using Computation = Handle<weft_computation, weft_computation_free, "computation">;
using Keys = Lent<weft_config>;
using Builder = Lent<weft_builder>;

// Takes the members that need no code of their own.
void take_members(Options& reader, weft_model_options& options);
void take_members(Options& reader, weft_sampler_options& options);
void take_members(Options& reader, weft_session_options& options);
void take_members(Options& reader, weft_speculation_options& options);
void take_members(Options& reader, weft_generation_options& options);
void take_members(Options& reader, weft_beam_options& options);
void take_members(Options& reader, weft_diffusion_options& options);
void take_members(Options& reader, weft_chat_turn& options);
void take_members(Options& reader, weft_embedder_options& options);
void take_members(Options& reader, weft_computation_options& options);
void take_members(Options& reader, weft_attend_options& options);
void take_members(Options& reader, weft_bench_options& options);
void take_members(Options& reader, weft_quantize_options& options);

py::dict dict_of(const weft_model_info& info);
py::dict dict_of(const weft_session_info& info);
py::dict dict_of(const weft_speculation_info& info);
py::dict dict_of(const weft_generation_info& info);
py::dict dict_of(const weft_diffusion_info& info);

// Parts of the module: all classes come first.
void add_classes(py::module_& m);
void add_constants(py::module_& m);
void add_forwards_of_models(py::module_& m);
void add_forwards_of_sessions(py::module_& m);
void add_forwards_of_generations(py::module_& m);
void add_forwards_of_chats(py::module_& m);
void add_forwards_of_graphs(py::module_& m);
void add_forwards_of_architectures(py::module_& m);

}  // namespace weft_python
