#include "weft/run/model.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "weft/adapters/adapters.h"
#include "weft/base/intern.h"
#include "weft/base/printable.h"
#include "weft/files/describe.h"
#include "weft/files/mapped_file.h"
#include "weft/files/tensor_values.h"
#include "weft/files/vocabulary_file.h"
#include "weft/graph/graph.h"

#include "border/arguments.h"
#include "border/call.h"
#include "border/json.h"
#include "border/objects.h"
#include "border/options.h"

namespace weft::c_api {
namespace {

// Bytes of the caller, with what tells the caller that they are not used any more.
class LentBytes {
 public:
  LentBytes(void (*release)(void*), void* user) : release_(release), user_(user) {}
  LentBytes(const LentBytes&) = delete;
  LentBytes& operator=(const LentBytes&) = delete;
  ~LentBytes() {
    try {
      release_(user_);
    } catch (...) {
      return;  // nothing is left that could fail
    }
  }

 private:
  void (*release_)(void*);
  void* user_;
};

// What a model is made of, in the order in which it must not be destroyed.
struct Owner {
  std::shared_ptr<LentBytes> bytes;  // null: they are the library's
  std::shared_ptr<const Model> model;
};

// A model that keeps the bytes of its file: its sessions hold the same pointer.
std::shared_ptr<const Model> keeping(std::shared_ptr<LentBytes> bytes,
                                     std::shared_ptr<const Model> model) {
  if (!bytes) return model;
  const auto owner = std::make_shared<Owner>(std::move(bytes), std::move(model));
  return {owner, owner->model.get()};
}

void read_tokenizer(ModelObject& object) {
  if (!object.vocabulary->has_texts()) {
    object.no_tokenizer = fmt::format("{} has no tokenizer", object.file->path());
    return;
  }
  try {
    object.tokenizer = make_tokenizer(object.vocabulary);
  } catch (const UnsupportedError& e) {  // its ids and texts can still be read
    object.no_tokenizer = fmt::format("{}: {}", object.file->path(), e.what());
  }
}

weft_model* open_model(const weft_model_options* given, std::shared_ptr<LentBytes> bytes,
                       const std::function<Checkpoint(const OpenOptions&)>& open_file) {
  const auto o = read_options(given, weft_model_options{.struct_size = sizeof(weft_model_options)},
                              "weft_model_options");
  ModelOptions options = model_options(o);
  CancellableCall running;
  options.progress = running.watch(options.progress);
  if (options.progress && !options.progress(0)) fail<CancelledError>("loading was cancelled");
  const bool vocabulary_only = is_set(o.vocabulary_only, "vocabulary_only");
  const Checkpoint file = open_file(
      {.allow_unknown_settings = options.allow_unknown_settings, .rank_files = vocabulary_only});
  auto object = std::make_shared<ModelObject>();
  object->file = options.overrides.empty() ? file : file.with_keys(options.overrides);
  object->path = file.path();
  object->name = object->file->find_string("general.name").value_or("");
  object->architecture = object->file->find_string("general.architecture").value_or("");
  object->n_loras = options.adapters.loras.size();
  if (vocabulary_only) {
    object->bytes = std::move(bytes);
    object->vocabulary = read_vocabulary(*object->file);
    read_tokenizer(*object);
    return handle_of<weft_model>(std::move(object));
  }
  object->model = keeping(std::move(bytes), Model::load(file, options));
  object->vocabulary = {object->model, &object->model->vocabulary()};
  if (object->model->has_tokenizer()) {
    object->tokenizer = {object->model, &object->model->tokenizer()};
  } else {
    object->no_tokenizer = fmt::format("{} has no tokenizer", file.path());
  }
  return handle_of<weft_model>(std::move(object));
}

// Throws ValueError if the file has no such tensor, or only a part of it.
const CheckpointTensor& readable_tensor(const Checkpoint& file, std::string_view name) {
  const CheckpointTensor* tensor = file.find_tensor(name);
  if (!tensor) fail<ValueError>("{}: the file has no tensor '{}'", file.path(), printable(name));
  if (tensor->absent)
    fail<ValueError>("{}: the file has only a part of tensor '{}'", file.path(), printable(name));
  file.require_format(*tensor);
  return *tensor;
}

void describe(const CheckpointTensor& tensor, weft_tensor_info* info) {
  weft_tensor_info result{.rank = tensor.spec.shape.n_dims(),
                          .kind = to_string(NodeKind::weight).data(),
                          .op = "",
                          .path = intern(tensor.name).data(),
                          .dtype = tensor.spec.dtype.name().data()};
  for (int i = 0; i < result.rank; ++i) result.dims[i].bound = tensor.spec.shape[i].bound;
  write_struct(info, result, "weft_tensor_info");
}

std::string name_or(const char* name, std::string_view otherwise) {
  return std::string(text_or(name, otherwise));
}

std::uint32_t flags_of(const ModelObject& m) {
  std::uint32_t flags = m.tokenizer ? WEFT_MODEL_HAS_TOKENIZER : 0;
  if (!m.model) return flags | WEFT_MODEL_VOCABULARY_ONLY;
  const ModelFacts& facts = m.model->facts();
  if (facts.causal) flags |= WEFT_MODEL_CAUSAL;
  if (facts.has_output) flags |= WEFT_MODEL_HAS_OUTPUT;
  if (facts.encodes) flags |= WEFT_MODEL_ENCODES;
  if (facts.diffuses) flags |= WEFT_MODEL_DIFFUSES;
  if (facts.recurrent) flags |= WEFT_MODEL_RECURRENT;
  if (facts.drafts) flags |= WEFT_MODEL_DRAFTS;
  return flags;
}

}  // namespace

const std::shared_ptr<const Model>& ModelObject::computing() const {
  if (!model)
    fail<UnsupportedError>("{}: only the vocabulary was loaded (vocabulary_only)", file->path());
  return model;
}

const Tokenizer& ModelObject::text() const {
  if (!tokenizer) throw UnsupportedError(no_tokenizer);
  return *tokenizer;
}

std::shared_ptr<const TokenTree> ModelObject::tree() const {
  std::call_once(tree_once_, [&] { tree_ = std::make_shared<const TokenTree>(text()); });
  return tree_;
}

}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_model_open(const char* path, const weft_model_options* options, weft_model** model,
                            weft_error** error) {
  return call(error, [&] {
    required(model, "model");
    const std::string name(required_text(path, "path"));
    *model = open_model(options, nullptr,
                        [&](const OpenOptions& how) { return Checkpoint::open(name, how); });
  });
}

weft_status weft_model_open_memory(const void* data, size_t size, const char* name,
                                   void (*release)(void* user), void* user,
                                   const weft_model_options* options, weft_model** model,
                                   weft_error** error) {
  bool owned = false;  // not if the library is closed
  const weft_status status = call(error, [&] {
    std::shared_ptr<LentBytes> lent;
    if (release) lent = std::make_shared<LentBytes>(release, user);
    owned = true;
    required(model, "model");
    const auto bytes = std::as_bytes(array(static_cast<const char*>(data), size, "data"));
    *model = open_model(options, std::exchange(lent, nullptr), [&](const OpenOptions&) {
      const std::string shown = name_or(name, "a model in memory");
      return release ? Checkpoint::parse(bytes, shown)
                     : Checkpoint::parse(MappedFile::anonymous(bytes), shown);
    });
  });
  if (release && !owned) const LentBytes released(release, user);
  return status;
}

weft_status weft_model_open_descriptor(int32_t descriptor, const char* name,
                                       const weft_model_options* options, weft_model** model,
                                       weft_error** error) {
  return call(error, [&] {
    required(model, "model");
    *model = open_model(options, nullptr, [&](const OpenOptions&) {
      const std::string shown = name_or(name, fmt::format("descriptor {}", descriptor));
      return Checkpoint::parse(MappedFile::of_descriptor(descriptor, shown), shown);
    });
  });
}

weft_status weft_model_free(weft_model* model) {
  return free_handle<ModelObject>(model);
}

weft_status weft_model_get_info(weft_model* model, weft_model_info* info, weft_error** error) {
  return call(error, [&] {
    const auto m = pin<ModelObject>(model);
    const ModelFacts facts = m->model ? m->model->facts() : ModelFacts{};
    write_struct(info,
                 weft_model_info{.flags = flags_of(*m),
                                 .architecture = m->architecture.c_str(),
                                 .name = m->name.c_str(),
                                 .path = m->path.c_str(),
                                 .n_layers = facts.n_layers,
                                 .n_embd = facts.n_embd,
                                 .n_vocab = m->vocabulary->size(),
                                 .context = facts.context,
                                 .n_params = facts.n_params,
                                 .weight_bytes = facts.weight_bytes,
                                 .token_types = facts.token_types,
                                 .start = facts.start,
                                 .n_loras = static_cast<uint32_t>(m->n_loras)},
                 "weft_model_info");
  });
}

weft_status weft_model_metadata_json(weft_model* model, size_t max_elements, weft_text* json,
                                     weft_error** error) {
  return call(error, [&] {
    const auto m = pin<ModelObject>(model);
    const std::string text = metadata_json(*m->file, max_elements);
    m->file->check_mapped();
    write_text(json, text);
  });
}

weft_status weft_model_read_tensor(weft_model* model, const char* name, weft_tensor_info* info,
                                   float* values, size_t capacity, size_t* n, weft_error** error) {
  return call(error, [&] {
    const auto m = pin<ModelObject>(model);
    const CheckpointTensor& tensor = readable_tensor(*m->file, required_text(name, "name"));
    if (info) check_output(info, "weft_tensor_info");
    const auto size = static_cast<std::size_t>(tensor.spec.shape.elems());
    check_array(values, capacity, sizeof *values, "values");
    required(n, "n");
    if (info) describe(tensor, info);
    check_capacity(size, capacity, n, "values");
    *n = size;
    if (size == 0) return;
    for_each_piece(tensor, [&](std::span<const float> piece, std::int64_t first) {
      std::ranges::copy(piece, values + first);
    });
    m->file->check_mapped();
  });
}

weft_status weft_model_warnings_json(weft_model* model, weft_text* json, weft_error** error) {
  return call(error, [&] {
    const auto m = pin<ModelObject>(model);
    const auto& warnings = m->model       ? m->model->warnings()
                           : m->tokenizer ? m->tokenizer->warnings()
                                          : m->vocabulary->warnings();
    write_text(json, json_text(warnings));
  });
}

weft_status weft_model_get_chat_template(weft_model* model, const char** text, weft_error** error) {
  return call(error, [&] {
    const auto m = pin<ModelObject>(model);
    const std::string& source = m->vocabulary->chat_template();
    required(text, "text") = source.empty() ? nullptr : source.c_str();
  });
}

weft_status weft_model_check_files(weft_model* model, weft_error** error) {
  return call(error, [&] {
    const auto m = pin<ModelObject>(model);
    m->model ? m->model->check_files() : m->file->check_unchanged();
  });
}
