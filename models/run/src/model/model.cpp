#include "weft/run/model.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "weft/arch/eagle3.h"
#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/base/text.h"
#include "weft/files/tensor_values.h"
#include "weft/files/vocabulary_file.h"
#include "weft/files/weft_keys.h"
#include "weft/quantize/quantize.h"

#include "model/model_impl.h"
#include "streaming/packed_file.h"

namespace weft {
namespace {

using namespace run;

// Norms and biases are small, and a single bad number in them spoils every result, so they are
// checked now. Bad numbers in large weights show in the logits.
bool is_small(const CheckpointTensor& tensor) {
  constexpr std::int64_t kSmall = 1 << 20;
  return tensor.spec.dtype == f32 && tensor.spec.shape.n_dims() == 1 &&
         tensor.spec.shape.last() <= kSmall;
}

// Checks every weight of the graph once that another graph does not have: small ones must be
// finite. Also sums up their sizes.
void check_weights(const Checkpoint& file, const Graph& graph, const Graph* other,
                   ModelFacts& facts) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.kind != NodeKind::weight) continue;
    if (other && other->find(node.path) != kNoNode) continue;
    const CheckpointTensor& tensor = *file.find_tensor(node.path);
    if (is_small(tensor) && !tensor.absent) check_finite(file, tensor);
    facts.n_params += tensor.spec.shape.elems();
    facts.weight_bytes += node.spec.bytes();
  }
}

// Changes the types of the source's tensors to those of the mix.
void retype(const std::string& mix, CheckpointSource& source) {
  const QuantizePlan plan = plan_quantize(source.checkpoint(), {.type = mix, .keep_others = true});
  for (const QuantizedTensor& t : plan.tensors) {
    if (!t.converts()) continue;
    if (!t.obstacle.empty())
      fail<UnsupportedError>("{}: tensor '{}' cannot become {}: {}", source.file(),
                             printable(t.tensor->name), t.to.name(), t.obstacle);
    source.retype(t.tensor->name, {t.to, t.tensor->spec.shape});
  }
}

// The rows of the table of types, which encoders have.
std::int64_t token_types_of(const CheckpointSource& source) {
  const TensorSpec* table = source.find_tensor("token_types.weight");
  return table && table->shape.n_dims() == 2 ? table->shape[0].bound : 1;
}

ModelFacts facts_of(const Model::Impl& model) {
  const arch::Hparams& c = *model.hparams;
  return {.architecture = c.arch,
          .name = std::string(model.source.find_string("general.name").value_or("")),
          .n_layers = c.L,
          .n_embd = c.D,
          .n_vocab = c.V,
          .context = c.context,
          .causal = c.causal,
          .has_output = !model.source.checkpoint().find_bool(kWithoutOutputKey).value_or(false),
          .encodes = model.architecture->encode != nullptr,
          .diffuses = model.architecture->diffuses && !c.causal,
          .token_types = token_types_of(model.source)};
}

// The token that texts of a decoder begin with: that of the file, or BOS, or padding, or 0.
TokenId start_token(const CheckpointSource& source, const Model::Impl& model) {
  const std::int64_t V = model.hparams->V;
  const arch::Keys keys(source, model.hparams->arch);
  const SpecialTokens& special = model.vocabulary->special();
  std::int64_t fallback = special.bos != kNoToken ? special.bos : std::max(special.pad, 0);
  if (fallback >= V) fallback = 0;
  return static_cast<TokenId>(keys.size_or("decoder_start_token_id", 0, V - 1, fallback));
}

void read_text(const Checkpoint& file, Model::Impl& model) {
  model.vocabulary = read_vocabulary(file);
  model.warnings = model.vocabulary->warnings();
  if (model.vocabulary->size() != model.hparams->V) {
    fail<FormatError>("{}: the vocabulary has {} tokens, the model {}", file.path(),
                      model.vocabulary->size(), model.hparams->V);
  }
  if (!model.vocabulary->has_texts()) {
    model.no_tokenizer = fmt::format("{} has no tokenizer", file.path());
    return;
  }
  try {
    model.tokenizer = make_tokenizer(model.vocabulary);
    model.warnings = model.tokenizer->warnings();
  } catch (const UnsupportedError& e) {  // token ids still work
    model.no_tokenizer = fmt::format("{}: {}", file.path(), e.what());
    model.warnings.push_back(e.what());
  } catch (const FormatError& e) {
    fail<FormatError>("{}: {}", file.path(), e.what());
  }
}

// A key with a typing error changes nothing.
void warn_of_new_keys(const Checkpoint& file, std::span<const KeyOverride> overrides,
                      Model::Impl& model) {
  for (const KeyOverride& o : overrides) {
    if (!file.find(o.key))
      model.warnings.push_back(fmt::format("{}: the overridden key '{}' is not in the file",
                                           file.path(), printable(o.key)));
  }
}

// `encoder` is null if the model has none.
void open_adapters(const AdapterFiles& files, const Graph& graph, const Graph* encoder,
                   Model::Impl& model) {
  if (files.empty()) return;
  std::vector<const Graph*> graphs{&graph};
  if (encoder) graphs.push_back(encoder);
  const Checkpoint& file = model.source.checkpoint();
  model.adapters = Adapters::open(files, {.file = file,
                                          .n_layers = model.facts.n_layers,
                                          .n_embd = model.facts.n_embd,
                                          .graphs = graphs});
  model.weights = model.adapters.weights(model.weights);
  const auto& warnings = model.adapters.warnings();
  model.warnings.insert(model.warnings.end(), warnings.begin(), warnings.end());
}

// Graphs have the tensors of a head under other names than its file.
std::string names_of_file(std::string_view message) {
  const std::string prefix = fmt::format("'{}.", arch::kHeadPart);
  std::string text(message);
  for (std::size_t at; (at = text.find(prefix)) != text.npos;) text.replace(at, prefix.size(), "'");
  return text;
}

// The graph of steps or of the encoder. Errors concern the file, not the builder's code.
arch::ModelGraph graph_of(const Model::Impl& model, arch::GraphPart part, bool features = false) {
  const auto reword = [](std::string_view message) {
    return names_of_file(without_source_line(message));
  };
  return reword_errors<FormatError, ShapeError, DTypeError, ValueError>(reword, [&] {
    arch::ModelGraph built = model.graph({.part = part, .features = features});
    check(built.graph);
    return built;
  });
}

// A draft layer only saves time: a file with a bad one loads without it.
void check_draft_layer(const Graph& steps, Model::Impl& model) {
  try {
    const Graph graph = graph_of(model, arch::GraphPart::draft).graph;
    ModelFacts counted;
    check_weights(model.source.checkpoint(), graph, &steps, counted);
    model.facts.drafts = true;
    model.facts.draft_width = model.hparams->D;
  } catch (const Error& error) {
    model.warnings.push_back(fmt::format("the model's draft layer is not used: {}", error.what()));
  }
}

// The layer was asked for: what is wrong with it is an error.
void use_draft_file(const ModelOptions& options, const Graph& steps, Model::Impl& model) {
  const auto file = Checkpoint::open(options.draft_file, {options.allow_unknown_settings});
  model.draft_file = join_draft_file(file, model.source, *model.architecture, *model.hparams);
  model.weights = model.draft_file->source.checkpoint();
  if (model.draft_file->feature_layers) {
    const Graph more = graph_of(model, arch::GraphPart::steps, true).graph;
    check_weights(model.weights, more, &steps, model.facts);
  }
  const Graph graph = graph_of(model, arch::GraphPart::draft).graph;
  check_weights(model.weights, graph, &steps, model.facts);
  model.facts.drafts = true;
  model.facts.draft_head = model.draft_file->feature_layers != nullptr;
  model.facts.draft_width = model.draft_file->hparams->D;
}

}  // namespace

void run::report_progress(const ModelOptions& options, double share) {
  if (options.progress && !options.progress(share)) fail<CancelledError>("loading was cancelled");
}

std::unique_ptr<Model::Impl> Model::Impl::load(const Checkpoint& file,
                                               const ModelOptions& options) {
  auto impl =
      std::make_unique<Impl>(options.overrides.empty() ? file : file.with_keys(options.overrides));
  CheckpointSource& source = impl->source;
  impl->architecture = &arch::find_architecture(source);
  impl->hparams = configure(source, *impl->architecture);
  for (const CheckpointTensor& tensor : source.checkpoint().tensors())
    source.checkpoint().require_format(tensor);
  if (!options.quantize.empty()) retype(options.quantize, source);
  impl->quantized_to = options.quantize;
  report_progress(options, 0.1);
  read_text(source.checkpoint(), *impl);
  warn_of_new_keys(file, options.overrides, *impl);
  report_progress(options, 0.8);

  const auto [graph, memory] = graph_of(*impl, arch::GraphPart::steps);
  impl->facts = facts_of(*impl);
  impl->facts.recurrent = std::ranges::any_of(
      memory, [](const arch::MemoryPart& part) { return part.checkpoint_every > 0; });
  check_weights(source.checkpoint(), graph, nullptr, impl->facts);
  std::optional<Graph> encoder;
  if (impl->facts.encodes) {
    encoder = graph_of(*impl, arch::GraphPart::encoder).graph;
    check_weights(source.checkpoint(), *encoder, &graph, impl->facts);
    impl->facts.start = start_token(source, *impl);
  }
  if (!options.draft_file.empty())
    use_draft_file(options, graph, *impl);
  else if (has_draft_layers(source, *impl->architecture, *impl->hparams))
    check_draft_layer(graph, *impl);
  open_adapters(options.adapters, graph, encoder ? &*encoder : nullptr, *impl);
  return impl;
}

std::shared_ptr<const Model> Model::Impl::wrap(std::unique_ptr<Impl> impl) {
  return std::shared_ptr<const Model>(new Model(std::move(impl)));
}

arch::ModelGraph Model::Impl::graph(arch::GraphOptions options) const {
  if (!draft_file) return arch::build_model_graph(source, *architecture, *hparams, options);
  const run::DraftFile& f = *draft_file;
  if (f.feature_layers && options.features) options.feature_layers = f.feature_layers;
  if (options.part != arch::GraphPart::draft)
    return arch::build_model_graph(options.feature_layers ? f.source : source, *architecture,
                                   *hparams, options);
  options.feature_layers = f.feature_layers;
  return arch::build_model_graph(f.source, *f.architecture, *f.hparams, options);
}

std::shared_ptr<const ResidentWeights> Model::Impl::find_region(const WeightLayout& layout) const {
  const std::lock_guard lock(regions_mutex_);
  std::erase_if(regions_, [](const auto& region) { return region.expired(); });
  std::shared_ptr<const ResidentWeights> larger;  // the region of a session with more weights
  for (const auto& known : regions_) {
    auto region = known.lock();
    if (region && region->failed()) continue;
    if (region && region->layout() == layout) return region;
    if (region && layout.region_bytes > 0 && covers(region->layout(), layout)) larger = region;
  }
  return larger;
}

std::shared_ptr<const ResidentWeights> Model::Impl::resident_weights(
    const WeightLayout& layout, const LoadOptions& options) const {
  const std::lock_guard loading(loading_mutex_);
  if (auto region = find_region(layout)) return region;
  auto region = std::make_shared<const ResidentWeights>(weights, *identity, layout, options);
  const std::lock_guard lock(regions_mutex_);
  regions_.push_back(region);
  return region;
}

MappedFile Model::Impl::open_packed(const PackedFile& file, const LoadOptions& options) const {
  const std::lock_guard loading(loading_mutex_);
  return file.open(*identity, options);
}

std::int64_t Model::Impl::region_bytes(const WeightLayout& layout) const {
  return find_region(layout) ? layout.region_bytes : 0;
}

std::int64_t Model::Impl::resident_bytes() const {
  const std::lock_guard lock(regions_mutex_);
  std::int64_t sum = 0;
  for (const auto& known : regions_) {
    if (const auto region = known.lock()) sum += region->bytes();
  }
  return sum;
}

void Model::Impl::check_regions() const {
  const std::lock_guard lock(regions_mutex_);
  for (const auto& known : regions_)
    if (const auto region = known.lock()) region->check_mapped();
}

void Model::check_mapped() const {
  impl_->weights.check_mapped();
  impl_->check_regions();
}

void Model::check_files() const {
  impl_->weights.check_unchanged();
  impl_->check_regions();
}

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::~Model() = default;

const Checkpoint& Model::file() const {
  return impl_->source.checkpoint();
}
const Checkpoint& Model::weights() const {
  return impl_->weights;
}
const Adapters& Model::adapters() const {
  return impl_->adapters;
}
Identity& Model::identity() const {
  return *impl_->identity;
}
const ModelFacts& Model::facts() const {
  return impl_->facts;
}
std::span<const std::int32_t> Model::draft_ids() const {
  return impl_->draft_file ? std::span<const std::int32_t>(impl_->draft_file->ids)
                           : std::span<const std::int32_t>();
}
const Sharding& Model::sharding() const {
  return impl_->ranks.sharding;
}
const std::string& Model::quantized_to() const {
  return impl_->quantized_to;
}
const Vocabulary& Model::vocabulary() const {
  return *impl_->vocabulary;
}
bool Model::has_tokenizer() const {
  return impl_->tokenizer != nullptr;
}
const Tokenizer& Model::tokenizer() const {
  if (!impl_->tokenizer) fail<UnsupportedError>("{}", impl_->no_tokenizer);
  return *impl_->tokenizer;
}
const std::vector<std::string>& Model::warnings() const {
  return impl_->warnings;
}

}  // namespace weft
