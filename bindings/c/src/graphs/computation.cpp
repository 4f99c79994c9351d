#include "weft/scheduler/computation.h"

#include <algorithm>
#include <span>

#include "weft/scheduler/plan_svg.h"

#include "border/arguments.h"
#include "border/call.h"
#include "border/options.h"
#include "graphs/graph_objects.h"

namespace weft::c_api {
namespace {

struct ComputationObject : Object {
  static constexpr Kind kKind = Kind::computation;
  ComputationObject(const Graph& graph, const ComputationOptions& options)
      : Object(kKind), computation(graph, options) {}
  bool is_parents() const override { return gate.is_parents(); }
  Computation& inner() { return computation; }

  Gate gate{"computation"};
  Computation computation;
};

using UsedComputation = Used<ComputationObject>;

weft_computation_options default_computation_options() {
  return {.struct_size = sizeof(weft_computation_options)};
}

ComputationOptions computation_options(const weft_computation_options* given) {
  const auto o = read_options(given, default_computation_options(), "weft_computation_options");
  check_reserved(o.reserved, "weft_computation_options");
  check_least(o.workers, 0, "workers");
  check_least(o.mem_budget, 0, "mem_budget");
  return {.workers = o.workers,
          .backend = std::string(text_or(o.backend, "cpu")),
          .route = std::string(text_or(o.route)),
          .passes_off = split_list(o.passes_off, ','),
          .separate_tensors = is_set(o.separate_tensors, "separate_tensors"),
          .poll = poll_of(o.poll, o.poll_user),
          .mem_budget = o.mem_budget};
}

Extents extents_of(const Computation& computation, const std::int64_t* extents, std::size_t n) {
  const std::size_t wanted = computation.graph().variables().size();
  if (n != wanted) fail<ValueError>("the graph has {} variables, got {} extents", wanted, n);
  Extents all{};
  std::ranges::copy(array(extents, n, "extents"), all.begin());
  return all;
}

void give_bytes(std::span<std::byte> bytes, void** data, std::size_t* size) {
  give(bytes, data, size, "data", "size");
}

}  // namespace

weft_array array_of(const View& view) {
  weft_array a{.data = view.data,
               .dtype = view.dtype.name().data(),
               .rank = view.n_dims,
               .row_stride = view.row_stride};
  std::copy_n(view.dims.begin(), view.n_dims, a.dims);
  return a;
}

}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_computation_options_init(weft_computation_options* options, size_t size) {
  return call(nullptr, [&] {
    init_options(options, size, default_computation_options(), "weft_computation_options");
  });
}

weft_status weft_computation_open(weft_graph* graph, const weft_computation_options* options,
                                  weft_computation** computation, weft_error** error) {
  return call(error, [&] {
    required(computation, "computation");
    const UsedGraph g(graph);
    *computation = handle_of<weft_computation>(
        std::make_shared<ComputationObject>(*g, computation_options(options)));
  });
}

weft_status weft_computation_free(weft_computation* computation) {
  return free_handle<ComputationObject>(computation);
}

weft_status weft_computation_set_weight(weft_computation* computation, const char* name,
                                        const void* data, size_t size, weft_error** error) {
  return call(error, [&] {
    UsedComputation(computation)
        ->set_weight(required_name(name, "name"),
                     std::as_bytes(array(static_cast<const char*>(data), size, "data")));
  });
}

weft_status weft_computation_get_input(weft_computation* computation, const char* name, void** data,
                                       size_t* size, weft_error** error) {
  return call(error, [&] {
    give_bytes(UsedComputation(computation)->input(required_name(name, "name")), data, size);
  });
}

weft_status weft_computation_get_state(weft_computation* computation, const char* name, void** data,
                                       size_t* size, weft_error** error) {
  return call(error, [&] {
    give_bytes(UsedComputation(computation)->state(required_name(name, "name")), data, size);
  });
}

weft_status weft_computation_run(weft_computation* computation, const int64_t* extents,
                                 size_t n_extents, weft_error** error) {
  return call(error, [&] {
    const UsedComputation c(computation);
    c->run(extents_of(*c, extents, n_extents), &c.cancelled());
    mark_warm();
  });
}

weft_status weft_computation_cancel(weft_computation* computation) {
  return call(nullptr, [&] { pin<ComputationObject>(computation)->gate.cancel(); });
}

weft_status weft_computation_get_output(weft_computation* computation, const char* name,
                                        weft_array* array, weft_error** error) {
  return call(error, [&] {
    required(array, "array") =
        array_of(UsedComputation(computation)->output(required_name(name, "name")));
  });
}

weft_status weft_computation_get_tensor(weft_computation* computation, const char* path,
                                        weft_array* array, weft_error** error) {
  return call(error, [&] {
    required(array, "array") =
        array_of(UsedComputation(computation)->value(required_name(path, "path")));
  });
}

weft_status weft_computation_verify(weft_computation* computation, const int64_t* extents,
                                    size_t n_extents, int32_t* passed, weft_text* json,
                                    weft_error** error) {
  return call(error, [&] {
    required(passed, "passed");
    const UsedComputation c(computation);
    const VerifyReport report = c->verify(extents_of(*c, extents, n_extents), &c.cancelled());
    if (json) write_text(json, report.to_json());
    *passed = report.first_bad() == nullptr;
  });
}

weft_status weft_computation_plan_json(weft_computation* computation, weft_text* json,
                                       weft_error** error) {
  return call(error, [&] { write_text(json, UsedComputation(computation)->plan().to_json()); });
}

weft_status weft_computation_plan_svg(weft_computation* computation, weft_text* svg,
                                      weft_error** error) {
  return call(error, [&] {
    const UsedComputation c(computation);
    write_text(svg, plan_svg(c->graph(), c->plan()));
  });
}

weft_status weft_computation_get_plan_hash(weft_computation* computation, uint64_t* hash,
                                           weft_error** error) {
  return call(error, [&] { required(hash, "hash") = UsedComputation(computation)->plan().hash(); });
}
