#include "model/draft_file.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "weft/arch/eagle3.h"
#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/ops/formats/numbers.h"
#include "weft/run/draft_file.h"

namespace weft {

DraftFileKind draft_file_kind(const Checkpoint& file) {
  const auto architecture = file.find_string("general.architecture");
  if (!architecture) return DraftFileKind::model;
  if (*architecture == arch::kEagle3) return DraftFileKind::head;
  const auto is_of_first_layer = [](const CheckpointTensor& tensor) {
    return tensor.name.starts_with("blk.0.");
  };
  const auto n = file.find_uint(fmt::format("{}.nextn_predict_layers", *architecture));
  return n.value_or(0) > 0 && std::ranges::none_of(file.tensors(), is_of_first_layer)
             ? DraftFileKind::layer
             : DraftFileKind::model;
}

namespace run {
namespace {

// What the layer and the model must have in common.
void check_fits(const Checkpoint& file, const arch::Hparams& layer, const CheckpointSource& model,
                const arch::Hparams& hparams) {
  const auto same = [&](std::string_view what, std::int64_t got, std::int64_t expected) {
    if (got == expected) return;
    fail<ShapeError>("{}: a draft layer for a model with {} {}, but {} has {}",
                     printable_path(file.path()), what, got,
                     printable_path(model.checkpoint().path()), expected);
  };
  same("embedding length", layer.D, hparams.D);
  same("number of tokens", layer.V, hparams.V);
  same("number of layers", layer.L, hparams.L);
}

void check_kind(const Checkpoint& file, const CheckpointSource& model,
                const arch::Hparams& hparams) {
  const CheckpointSource source(file);
  const std::string_view theirs = find_architecture(source).name;
  const std::string path = printable_path(file.path());
  const std::string of = printable_path(model.checkpoint().path());
  if (draft_file_kind(file) != DraftFileKind::layer)
    fail<UnsupportedError>(
        "{}: a model of its own, expected a draft layer of {}: only tensors blk.{}.*, and the key "
        "'{}.nextn_predict_layers'; or a head of architecture 'eagle3'",
        path, of, hparams.L, hparams.arch);
  if (theirs != hparams.arch)
    fail<UnsupportedError>("{}: a draft layer for architecture '{}', but {} has '{}'", path, theirs,
                           of, hparams.arch);
}

// The layer's tensors under the names that they have in graphs. What the model has itself is
// shared, so that it is in memory once.
std::vector<AddedTensor> layer_tensors(const Checkpoint& file, const CheckpointSource& model,
                                       std::int64_t L) {
  const Checkpoint& own = model.checkpoint();
  const std::string layer = fmt::format("blk.{}.", L), next = fmt::format("blk.{}.", L + 1);
  const std::string output = layer + "nextn.shared_head_head.weight";
  std::vector<AddedTensor> added;
  for (const CheckpointTensor& tensor : file.tensors()) {
    const std::string name(tensor.name);
    if (own.find_tensor(name) && name.starts_with(layer))
      fail<FormatError>("{}: tensor '{}' is also in {}, which has a draft layer of its own",
                        printable_path(file.path()), printable(name), printable_path(own.path()));
    if (name.starts_with(layer)) {
      added.push_back({name, &file, &tensor});
    } else if (name == "output.weight" && !own.find_tensor(name) && !file.find_tensor(output)) {
      added.push_back({output, &file, &tensor});
    } else if (name.starts_with("blk.") && !name.starts_with(next)) {
      fail<FormatError>("{}: tensor '{}' is not of the draft layer, blk.{}",
                        printable_path(file.path()), printable(name), L);
    }
  }
  for (const AddedTensor& tensor : added) file.require_format(*tensor.tensor);
  return added;
}

// The model's ids of the tokens that the logits of a head are of. Empty: all of them in order.
std::vector<std::int32_t> read_ids(const Checkpoint& file, std::int64_t V) {
  const CheckpointTensor* tensor = file.find_tensor("d2t");
  if (!tensor) return {};
  if (tensor->spec.dtype != i64 || tensor->spec.shape.n_dims() != 1)
    fail<FormatError>("{}: tensor 'd2t' must be a list of I64, got {}", printable_path(file.path()),
                      to_string(tensor->spec));
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < tensor->spec.shape.elems(); ++i) {
    std::int64_t id = 0;
    std::memcpy(&id, tensor->data + i * std::int64_t{sizeof id}, sizeof id);
    if (id < 0 || id >= V)
      fail<FormatError>("{}: tensor 'd2t' holds {} at element {}, must be 0..{}",
                        printable_path(file.path()), id, i, V - 1);
    ids.push_back(static_cast<std::int32_t>(id));
  }
  return ids;
}

DraftFile join_head(const Checkpoint& file, const CheckpointSource& model,
                    const arch::Hparams& hparams) {
  if (!hparams.causal)
    fail<UnsupportedError>("{}: a draft head for a model that writes texts, which {} does not",
                           printable_path(file.path()), printable_path(model.checkpoint().path()));
  std::vector<std::int32_t> ids = read_ids(file, hparams.V);
  const CheckpointSource source(file);
  const arch::Config head = configure_eagle3(source, hparams, std::ssize(ids));
  std::vector<AddedTensor> added;
  for (const CheckpointTensor& tensor : file.tensors()) {
    if (tensor.name == "d2t") continue;
    file.require_format(tensor);
    added.push_back({fmt::format("{}.{}", arch::kHeadPart, tensor.name), &file, &tensor});
  }
  return {{model.checkpoint().with(added), model, file.path()},
          head,
          &arch::eagle3(),
          &arch::config_cast<arch::Eagle3>(*head).features,
          std::move(ids)};
}

}  // namespace

DraftFile join_draft_file(const Checkpoint& file, const CheckpointSource& model,
                          const arch::Architecture& architecture, const arch::Hparams& hparams) {
  if (draft_file_kind(file) == DraftFileKind::head) return join_head(file, model, hparams);
  check_kind(file, model, hparams);
  const CheckpointSource source(file);
  const arch::Config layer = configure(source, architecture);
  check_fits(file, *layer, model, hparams);
  const std::vector<AddedTensor> added = layer_tensors(file, model, hparams.L);
  DraftFile joined{{model.checkpoint().with(added), model, file.path()}, layer, &architecture};
  if (!has_draft_layers(joined.source, architecture, *layer))
    fail<UnsupportedError>(
        "{}: no draft layer that architecture '{}' can use: tensor 'blk.{}.nextn.eh_proj.weight' "
        "is missing, or its draft layers are not known",
        printable_path(file.path()), architecture.name, hparams.L);
  return joined;
}

}  // namespace run
}  // namespace weft
