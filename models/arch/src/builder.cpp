#include "weft/arch/builder.h"

#include <unordered_set>

#include "weft/base/error.h"
#include "weft/ops/cache_cells.h"
#include "weft/ops/cache_write.h"

#include "text.h"

namespace weft {

struct Weights::Used {
  std::unordered_set<std::string> names;  // asked for, or known to be of no use
};

Weights::Weights(Graph& graph, const ModelSource& source)
    : graph_(&graph), source_(&source), used_(std::make_shared<Used>()) {}

Weights::Weights(const Weights& parent, const std::string& prefix)
    : graph_(parent.graph_),
      source_(parent.source_),
      prefix_(parent.prefix_ + prefix + "."),
      used_(parent.used_),
      scope_(std::make_shared<Graph::Scope>(*parent.graph_, prefix)) {}

Weights Weights::block(std::int64_t i) const {
  return Weights(*this, fmt::format("blk.{}", i));
}

bool Weights::has(std::string_view name) const {
  return source_->find_tensor(prefix_ + std::string(name)) != nullptr;
}

void Weights::ignore(std::string_view name) const {
  used_->names.insert(prefix_ + std::string(name));
}

Tensor Weights::operator()(std::string_view name, const Shape& shape, Where where) const {
  const std::string full = prefix_ + std::string(name);
  const TensorSpec* spec = source_->declare(full, shape, false);
  if (!spec)
    fail<FormatError>("{}: tensor '{}' is missing ({})", source_->file(), full, to_string(where));
  if (spec->shape != shape) {
    fail<ShapeError>("{}: tensor '{}' must be {}, got {} ({})", source_->file(), full,
                     to_string(shape), to_string(spec->shape), to_string(where));
  }
  used_->names.insert(full);
  return graph_->weight(full, *spec, where);
}

Tensor Weights::optional(std::string_view name, const Shape& shape, Where where) const {
  const bool there = source_->declare(prefix_ + std::string(name), shape, true) != nullptr;
  return there ? (*this)(name, shape, where) : Tensor();
}

Tensor Memory::attend(std::int64_t layer, Tensor q, Tensor k, Tensor v, const AttentionAttrs& attrs,
                      std::source_location where) const {
  Graph& graph = q.graph();
  const auto state = [&](std::string_view kind, DType dtype, Tensor x) {
    const Shape shape = cache_shape(n_cells_, x.shape()[1].bound, x.shape()[2].bound);
    return graph.state(fmt::format("cache.{}.{}", kind, layer), {dtype, shape}, where);
  };
  const Tensor keys = cache_write(state("k", k_type_, k), k, cells_, where).named("cache_k");
  const Tensor values = cache_write(state("v", v_type_, v), v, cells_, where).named("cache_v");
  return attention(q, keys, values, runs_, attrs, where).named("attn");
}

class GraphBuilder {
 public:
  GraphBuilder(const ModelSource& source, const GraphOptions& options) : source_(source) {
    const Dim t = graph_.variable("T", options.tokens);
    const Dim o = graph_.variable("O", options.logits_rows);
    in_.tokens = graph_.input("tokens", {i32, {t}});
    in_.pos = graph_.input("pos", {i32, {t}});
    in_.out_rows = graph_.input("out_rows", {i32, {o}});
    const std::int64_t per_sequence = whole_blocks(options.context);
    in_.memory.cells_ = graph_.input("cells", {i32, {t}});
    in_.memory.runs_ = {
        .table = graph_.input("table", {i32, {options.sequences, per_sequence / kCellsPerBlock}}),
        .slot = graph_.input("slot", {i32, {t}}),
        .first = graph_.input("first", {i32, {t}}),
        .last = in_.pos};
    in_.memory.n_cells_ = options.cells > 0 ? options.cells : options.sequences * per_sequence;
    in_.memory.k_type_ = options.cache_k;
    in_.memory.v_type_ = options.cache_v;
    in_.context = options.context;
    in_.embeddings = options.embeddings;
  }

  Graph build(const Architecture& architecture, const Hparams& c) {
    const Weights weights(graph_, source_);
    graph_.output(in_.embeddings ? "embeddings" : "logits", architecture.build(weights, c, in_));
    check_all_used(*weights.used_, architecture.name);
    return std::move(graph_);
  }

 private:
  void check_all_used(const Weights::Used& used, std::string_view arch) const {
    constexpr std::size_t kShown = 5;
    std::size_t n_unknown = 0;
    std::string names;
    for (const std::string_view name : source_.tensor_names()) {
      if (used.names.contains(std::string(name)) || ++n_unknown > kShown) continue;
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", short_name(name));
    }
    if (n_unknown == 0) return;
    if (n_unknown > kShown) names += fmt::format(" and {} more", n_unknown - kShown);
    fail<FormatError>("{}: architecture '{}' has no use for {} {}", source_.file(), arch,
                      n_unknown == 1 ? "tensor" : "tensors", names);
  }

  const ModelSource& source_;
  Graph graph_;
  Inputs in_;
};

namespace {

// Runs f and puts the file's name before what ops throw while the graph grows.
template <class F>
auto with_file(std::string_view file, F f) {
  const auto text = [&](const Error& e) {
    const std::string_view what = e.what();
    return what.starts_with(file) ? std::string(what) : fmt::format("{}: {}", file, what);
  };
  try {
    return f();
  } catch (const ShapeError& e) {
    throw ShapeError(text(e));
  } catch (const DTypeError& e) {
    throw DTypeError(text(e));
  } catch (const ValueError& e) {
    throw ValueError(text(e));
  }
}

}  // namespace

Graph build_graph(const ModelSource& source, const Architecture& architecture, const Hparams& c,
                  const GraphOptions& options) {
  return with_file(source.file(),
                   [&] { return GraphBuilder(source, options).build(architecture, c); });
}

}  // namespace weft
