#include "weft/arch/builder.h"

#include <algorithm>
#include <span>
#include <unordered_set>
#include <vector>

#include "weft/arch/dense_names.h"
#include "weft/arch/eagle3.h"
#include "weft/base/error.h"

#include "build_unchecked.h"
#include "decoder/text.h"

namespace weft::arch {
namespace {

// What the names of tensors begin with in the encoders of images and sound, and what connects them:
// files may hold them beside the text model, whose graph does not use them.
constexpr std::string_view kOtherParts[] = {"v.", "a.", "mm."};

bool is_of_other_part(std::string_view tensor) {
  return std::ranges::any_of(kOtherParts, [&](auto part) { return tensor.starts_with(part); });
}

// The layers that follow pooling, outside of the graph: a classifier, and those of dense_names.h.
bool follows_pooling(std::string_view tensor) {
  constexpr std::string_view kClassifier[] = {"cls.weight", "cls.bias", "cls.norm.weight",
                                              "cls.output.weight", "cls.output.bias"};
  if (std::ranges::find(kClassifier, tensor) != std::end(kClassifier)) return true;
  for (int i = kFirstDense; i < kFirstDense + kMaxDense; ++i) {
    if (tensor == fmt::format("dense_{}.weight", i) || tensor == fmt::format("dense_{}.bias", i))
      return true;
  }
  return false;
}

}  // namespace

struct Weights::Used {
  std::unordered_set<std::string> names;  // declared or ignored
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

Weights Weights::part(std::string_view name) const {
  return Weights(*this, std::string(name));
}

bool Weights::has(std::string_view name) const {
  return source_->find_tensor(prefix_ + std::string(name)) != nullptr;
}

const Shape* Weights::shape_of(std::string_view name) const {
  const TensorSpec* spec = source_->find_tensor(prefix_ + std::string(name));
  return spec ? &spec->shape : nullptr;
}

void Weights::ignore(std::string_view name) const {
  used_->names.insert(prefix_ + std::string(name));
}

void Weights::ignore_block(std::int64_t i) const {
  ignore_part(fmt::format("blk.{}", i));
}

void Weights::ignore_part(std::string_view part) const {
  const std::string prefix = fmt::format("{}{}.", prefix_, part);
  for (const std::string_view name : source_->tensor_names()) {
    if (name.starts_with(prefix)) used_->names.emplace(name);
  }
}

namespace {

// The dimensions that are not 1.
std::vector<std::int64_t> squeezed_dims(const Shape& shape) {
  std::vector<std::int64_t> dims;
  for (const Dim& dim : shape) {
    if (dim.bound != 1) dims.push_back(dim.bound);
  }
  return dims;
}

bool same(const Shape& a, const Shape& b) {
  return a == b;
}

bool same_but_for_ones(const Shape& a, const Shape& b) {
  return squeezed_dims(a) == squeezed_dims(b);
}

bool same_or_merged(const Shape& stored, const Shape& wanted) {
  return stored == wanted || stored == Shape{wanted[0].bound * wanted[1].bound, wanted[2]};
}

}  // namespace

Tensor Weights::operator()(std::string_view name, const Shape& shape, SourceLine where) const {
  return declare(name, shape, same, where);
}

Tensor Weights::squeezed(std::string_view name, const Shape& shape, SourceLine where) const {
  return declare(name, shape, same_but_for_ones, where);
}

Tensor Weights::stacked(std::string_view name, const Shape& shape, SourceLine where) const {
  return declare(name, shape, same_or_merged, where);
}

Tensor Weights::declare(std::string_view name, const Shape& shape, Fits fits,
                        SourceLine where) const {
  const std::string full = prefix_ + std::string(name);
  const TensorSpec* spec = source_->declare(full, shape, false);
  if (!spec)
    fail<FormatError>("{}: tensor '{}' is missing ({})", source_->file(), full, to_string(where));
  if (!fits(spec->shape, shape)) {
    fail<ShapeError>("{}: tensor '{}' must be {}, got {} ({})", source_->file_of(full), full,
                     to_string(shape), to_string(spec->shape), to_string(where));
  }
  used_->names.insert(full);
  return graph_->weight(full, {spec->dtype, shape}, where);
}

Tensor Weights::optional(std::string_view name, const Shape& shape, SourceLine where) const {
  const bool there = source_->declare(prefix_ + std::string(name), shape, true) != nullptr;
  return there ? (*this)(name, shape, where) : Tensor();
}

class GraphBuilder {
 public:
  enum class Output : std::uint8_t { checked, unchecked };

  GraphBuilder(const ModelSource& source, const GraphOptions& options,
               Output output = Output::checked)
      : source_(source), options_(options), output_(output), in_(inputs(graph_, options)) {}

  ModelGraph build(const Architecture& architecture, const Hparams& c) {
    const bool draft = options_.part == GraphPart::draft;
    const Weights weights(graph_, source_);
    Tensor features;
    if (draft) in_.features = graph_.input("features", {f32, {in_.tokens.shape()[0], c.D}});
    if (draft || options_.features) in_.next_features = &features;
    if (!draft) in_.feature_layers = options_.feature_layers;
    const Tensor rows = builder_of(architecture)(weights, c, in_);
    if (output_ == Output::checked) check_output(rows, architecture, c);
    graph_.output(in_.embeddings ? "embeddings" : "logits", rows);
    if (features) graph_.output("features", features);
    if (options_.features && options_.feature_layers && !features)
      fail<UnsupportedError>("{}: models of architecture '{}' give no features to draft heads",
                             source_.file(), architecture.name);
    if (options_.feature_layers && !draft) weights.ignore_part(kHeadPart);
    for (std::int64_t i = c.L; i < c.L + c.n_nextn && !draft; ++i) weights.ignore_block(i);
    const std::string part =
        options_.feature_layers ? fmt::format("{}.", kHeadPart) : fmt::format("blk.{}.", c.L);
    if (needs_no_logits()) {
      check_known(*weights.used_, architecture, c);
    } else {
      check_all_used(*weights.used_, architecture.name, draft ? part : "");
    }
    return {std::move(graph_), in_.memory.parts()};
  }

 private:
  // Who runs the step chooses its rows: with a row for each token instead, it would read those of
  // other tokens. A head for drafts may have a vocabulary of its own.
  void check_output(Tensor rows, const Architecture& architecture, const Hparams& c) const {
    if (!rows)
      fail<ValueError>("{}: architecture '{}' gives no output", source_.file(), architecture.name);
    const Dim o = in_.out_rows.shape()[0], width = in_.embeddings ? c.D : c.V;
    const Shape& got = rows.shape();
    const bool fits = rows.dtype() == f32 && got.n_dims() == 2 && got[0] == o;
    if (fits && (got[1] == width || options_.part == GraphPart::draft)) return;
    const bool all_rows = got.n_dims() > 0 && got[0] == in_.tokens.shape()[0];
    fail<ShapeError>("{}: architecture '{}': the {} of a step must be {}, got {}{} ({})",
                     source_.file(), architecture.name, in_.embeddings ? "embeddings" : "logits",
                     text_of({f32, {o, width}}), text_of(rows.spec()),
                     all_rows ? "; pick the rows `out_rows` with get_rows()" : "",
                     to_string(graph_[rows.id()].where));
  }

  // As to_string(), with the names of variables.
  std::string text_of(const TensorSpec& spec) const {
    std::string dims;
    for (const Dim& dim : spec.shape)
      dims +=
          fmt::format("{}{}", dims.empty() ? "" : ", ",
                      dim.varies() ? graph_.variables()[static_cast<std::size_t>(dim.variable)].name
                                   : to_string(dim));
    return fmt::format("{} [{}]", spec.dtype.name(), dims);
  }

  // Whether it is the graph of steps without what only logits are computed with.
  bool needs_no_logits() const { return in_.embeddings && options_.part == GraphPart::steps; }

  // The weights of the logits belong to the model in any case: if some are left over, the graph
  // with logits says which of them the architecture does not know.
  void check_known(const Weights::Used& used, const Architecture& architecture,
                   const Hparams& c) const {
    if (unused(used, "").empty()) return;
    GraphOptions with_logits = options_;
    with_logits.embeddings = false;
    GraphBuilder(source_, with_logits, Output::unchecked).build(architecture, c);
  }

  decltype(Architecture::build) builder_of(const Architecture& architecture) const {
    if (options_.part == GraphPart::encoder) return architecture.encode;
    return options_.part == GraphPart::draft ? architecture.draft : architecture.build;
  }

  static Inputs inputs(Graph& graph, const GraphOptions& options) {
    const bool encoder = options.part == GraphPart::encoder;
    const MemoryOf own = encoder                            ? MemoryOf::text
                         : options.part == GraphPart::draft ? MemoryOf::drafts
                                                            : MemoryOf::sequence;
    const Dim t = graph.variable("T", options.tokens);
    const Dim o = graph.variable("O", options.logits_rows);
    const Tensor tokens = graph.input("tokens", {i32, {t}}), pos = graph.input("pos", {i32, {t}});
    const MemorySizes sizes{
        .sequences = options.sequences,
        .context = options.context,
        .cells = options.cells,
        .step_tokens = options.step_tokens > 0 ? options.step_tokens : options.tokens,
        .cache_k = options.cache_k,
        .cache_v = options.cache_v,
        .rewind = options.rewind,
        .kept = options.kept,
        .kept_tokens = options.kept_tokens,
        .lasting_every = options.lasting_every,
        .own = own};
    return {.tokens = tokens,
            .pos = pos,
            .out_rows = graph.input("out_rows", {i32, {o}}),
            .memory = Memory(graph, pos, sizes),
            .context = options.context,
            .embeddings = encoder || (options.embeddings && options.part == GraphPart::steps)};
  }

  // The tensors whose names begin with `prefix` that should be used and are not.
  std::vector<std::string_view> unused(const Weights::Used& used, std::string_view prefix) const {
    std::vector<std::string_view> names = source_.tensor_names();
    std::erase_if(names, [&](std::string_view name) {
      return !name.starts_with(prefix) || used.names.contains(std::string(name)) ||
             is_of_other_part(name) || follows_pooling(name);
    });
    return names;
  }

  void check_all_used(const Weights::Used& used, std::string_view arch,
                      std::string_view prefix) const {
    constexpr std::size_t kShown = 5;
    const std::vector<std::string_view> unknown = unused(used, prefix);
    if (unknown.empty()) return;
    std::string names;
    for (const std::string_view name : std::span(unknown).first(std::min(unknown.size(), kShown)))
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", short_name(name));
    if (unknown.size() > kShown) names += fmt::format(" and {} more", unknown.size() - kShown);
    fail<FormatError>("{}: architecture '{}' does not use {} {}", source_.file_of(unknown[0]), arch,
                      unknown.size() == 1 ? "tensor" : "tensors", names);
  }

  const ModelSource& source_;
  const GraphOptions& options_;
  const Output output_;
  Graph graph_;
  Inputs in_;
};

namespace {

// Runs f and prepends the file's name to errors that ops throw.
template <class F>
auto with_file(const ModelSource& source, F f) {
  const auto names_file = [&](std::string_view message) {
    const auto of = [&](auto tensor) { return message.starts_with(source.file_of(tensor)); };
    return message.starts_with(source.file()) || std::ranges::any_of(source.tensor_names(), of);
  };
  const auto reword = [&](std::string_view message) {
    return names_file(message) ? std::string(message)
                               : fmt::format("{}: {}", source.file(), message);
  };
  return reword_errors<ShapeError, DTypeError, ValueError>(reword, f);
}

}  // namespace

bool has_draft_layers(const ModelSource& source, const Architecture& architecture,
                      const Hparams& c) {
  const std::string projection = fmt::format("blk.{}.nextn.eh_proj.weight", c.L);
  return architecture.draft && c.n_nextn > 0 && c.causal && source.find_tensor(projection);
}

ModelGraph build_model_graph(const ModelSource& source, const Architecture& architecture,
                             const Hparams& c, const GraphOptions& options) {
  return with_file(source, [&] { return GraphBuilder(source, options).build(architecture, c); });
}

Graph build_unchecked(const ModelSource& source, const Architecture& architecture, const Hparams& c,
                      const GraphOptions& options) {
  return with_file(source, [&] {
    return GraphBuilder(source, options, GraphBuilder::Output::unchecked)
        .build(architecture, c)
        .graph;
  });
}

Graph build_graph(const ModelSource& source, const Architecture& architecture, const Hparams& c,
                  const GraphOptions& options) {
  return build_model_graph(source, architecture, c, options).graph;
}

}  // namespace weft::arch
