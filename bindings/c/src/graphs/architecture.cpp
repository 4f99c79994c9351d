// Architectures whose reader and builder are callbacks.

#include <map>
#include <mutex>

#include "weft/arch/builder.h"
#include "weft/base/fork_mutex.h"
#include "weft/base/no_destructor.h"
#include "weft/base/printable.h"

#include "border/arguments.h"
#include "border/call.h"
#include "graphs/builder_objects.h"

namespace weft::c_api {

namespace {

struct OwnArchitectures {
  ForkMutex registering{ForkMutex::Held::lasting};  // taken first
  ForkMutex mutex;
  // By name; the last one counts, models may have the others.
  std::map<std::string, std::vector<std::unique_ptr<OwnArchitecture>>, std::less<>> all;
};

OwnArchitectures& own_architectures() {
  static NoDestructor<OwnArchitectures> instance;
  return *instance;
}

const OwnArchitecture& own_architecture(std::string_view name) {
  const std::lock_guard lock(own_architectures().mutex);
  return *own_architectures().all.find(name)->second.back();
}

// Frees a handle at the end of a callback.
class TemporaryHandle {
 public:
  explicit TemporaryHandle(std::shared_ptr<Object> object)
      : kind_(object->kind), handle_(add_handle(std::move(object))) {}
  ~TemporaryHandle() {
    try {
      take_handle(handle_, kind_);
    } catch (const HandleError&) {
      return;  // the callback freed it
    }
  }
  TemporaryHandle(const TemporaryHandle&) = delete;
  TemporaryHandle& operator=(const TemporaryHandle&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(handle_);
  }

 private:
  Kind kind_;
  void* handle_;
};

arch::HparamsRules rules_of(std::uint32_t flags) {
  return {
      .norm = flags & WEFT_ARCHITECTURE_LAYER_NORM ? arch::NormKind::layer : arch::NormKind::rms,
      .causal = (flags & WEFT_ARCHITECTURE_BOTH_WAYS) == 0};
}

arch::Config configure_own(const arch::Keys& keys) {
  const OwnArchitecture& own = own_architecture(keys.arch());
  const weft_architecture& callbacks = own.callbacks;
  const auto c = std::make_shared<OwnHparams>();
  static_cast<arch::Hparams&>(*c) = arch::read_hparams(keys, rules_of(callbacks.flags));
  if (callbacks.flags & WEFT_ARCHITECTURE_EXPERTS) {
    arch::read_experts(keys, *c);
  } else {
    arch::require_dense(keys, *c);
  }
  c->own = &own;
  c->type.set(typeid(OwnHparams));
  if (callbacks.configure) {
    const TemporaryHandle config(std::make_shared<ConfigObject>(keys, *c));
    checked_callback([&](weft_error** error) {
      return callbacks.configure(callbacks.user, config.as<weft_config>(), error);
    });
  }
  return c;
}

Tensor build_own(const arch::Weights& w, const arch::Hparams& hparams, const arch::Inputs& in) {
  const auto& c = arch::config_cast<OwnHparams>(hparams);
  const auto builder = std::make_shared<BuilderObject>(w, c, in);
  builder->graph = std::make_shared<GraphObject>(&in.tokens.graph());
  const TemporaryHandle graph(builder->graph), handle(builder);
  builder->graph_handle = graph.as<weft_graph>();
  const weft_architecture& callbacks = c.own->callbacks;
  weft_tensor_id result = kNoNode;
  checked_callback([&](weft_error** error) {
    return callbacks.build(callbacks.user, handle.as<weft_builder>(), &result, error);
  });
  while (!builder->graph->scopes.empty()) builder->graph->scopes.pop_back();
  while (builder->weights.size() > 1) builder->weights.pop_back();
  const Tensor rows = builder->graph->tensor(result, "result");
  if (!rows) fail<ValueError>("architecture '{}' gave no result", c.own->name);
  return rows;
}

// Whether it took the place of one that was registered before.
bool replaces(std::unique_ptr<OwnArchitecture>& own) {
  const std::lock_guard lock(own_architectures().mutex);
  const auto it = own_architectures().all.find(own->name);
  if (it == own_architectures().all.end()) return false;
  const std::uint32_t flags = own->callbacks.flags, before = it->second.back()->callbacks.flags;
  if ((flags & WEFT_ARCHITECTURE_REPLACES) == 0)
    fail<ValueError>("an architecture '{}' already exists", printable(own->name));
  if (((flags ^ before) & WEFT_ARCHITECTURE_DIFFUSES) != 0)
    fail<ValueError>("architecture '{}': only one that diffuses, too, can replace one that does",
                     printable(own->name));
  it->second.push_back(std::move(own));
  return true;
}

void add_new(std::unique_ptr<OwnArchitecture> own) {
  const OwnArchitecture& added = *own;
  {
    const std::lock_guard lock(own_architectures().mutex);
    own_architectures().all[added.name].push_back(std::move(own));
  }
  try {
    arch::register_architecture(
        {.name = added.name,
         .build = build_own,
         .configure = configure_own,
         .diffuses = (added.callbacks.flags & WEFT_ARCHITECTURE_DIFFUSES) != 0});
  } catch (...) {
    const std::lock_guard lock(own_architectures().mutex);
    own_architectures().all.erase(added.name);
    throw;
  }
}

// Throws ValueError for a range that has no values.
template <class T>
void check_range(T min, T max, std::string_view key) {
  if (!(min <= max)) fail<ValueError>("'{}': min {} is above max {}", printable(key), min, max);
}

}  // namespace
}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_config_integer(weft_config* config, const char* key, int64_t min, int64_t max,
                                int64_t fallback, int64_t* value, weft_error** error) {
  return call(error, [&] {
    const auto c = used_in_callback<ConfigObject>(config);
    const std::string name(required_name(key, "key"));
    check_range(min, max, name);
    const std::int64_t read = c->keys.size_or(name, min, max, fallback);
    c->hparams.integers[name] = read;
    if (value) *value = read;
  });
}

weft_status weft_config_number(weft_config* config, const char* key, double min, double max,
                               double fallback, double* value, weft_error** error) {
  return call(error, [&] {
    const auto c = used_in_callback<ConfigObject>(config);
    const std::string name(required_name(key, "key"));
    check_range(min, max, name);
    const auto given = c->keys.find_number(name, min, max);
    const double read = given ? static_cast<double>(*given) : fallback;
    c->hparams.numbers[name] = read;
    if (value) *value = read;
  });
}

weft_status weft_config_flag(weft_config* config, const char* key, int32_t fallback, int32_t* value,
                             weft_error** error) {
  return call(error, [&] {
    const auto c = used_in_callback<ConfigObject>(config);
    const std::string name(required_name(key, "key"));
    const bool read = c->keys.flag_or(name, fallback != 0);
    c->hparams.integers[name] = read;
    if (value) *value = read;
  });
}

weft_status weft_config_text(weft_config* config, const char* key, const char** text,
                             weft_error** error) {
  return call(error, [&] {
    const auto c = used_in_callback<ConfigObject>(config);
    required(text, "text");
    const auto found = c->keys.source().find_string(c->keys.name(required_name(key, "key")));
    *text = found ? c->texts.emplace_back(*found).c_str() : nullptr;
  });
}

weft_status weft_config_refuse(weft_config* config, const char* key, const char* problem,
                               weft_error** error) {
  return call(error, [&] {
    const auto c = used_in_callback<ConfigObject>(config);
    fail<FormatError>("{}: key '{}' {}", c->keys.source().file(),
                      c->keys.name(required_name(key, "key")), required_name(problem, "problem"));
  });
}

weft_status weft_register_architecture(const weft_architecture* architecture, weft_error** error) {
  return call(error, [&] {
    required(architecture, "architecture");
    auto own = std::make_unique<OwnArchitecture>();
    own->callbacks = read_options(architecture, weft_architecture{}, "weft_architecture");
    own->name = required_name(own->callbacks.name, "name");
    check_flags(own->callbacks.flags,
                WEFT_ARCHITECTURE_LAYER_NORM | WEFT_ARCHITECTURE_BOTH_WAYS |
                    WEFT_ARCHITECTURE_EXPERTS | WEFT_ARCHITECTURE_DIFFUSES |
                    WEFT_ARCHITECTURE_REPLACES,
                "flags");
    if (!own->callbacks.build) fail<ValueError>("`build` is NULL");
    const std::lock_guard lock(own_architectures().registering);
    if (!replaces(own)) add_new(std::move(own));
  });
}
