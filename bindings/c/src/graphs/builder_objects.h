#pragma once
// What the callbacks of an architecture get.

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/arch/builder.h"
#include "weft/weft.h"

#include "border/handles.h"
#include "graphs/graph_objects.h"

namespace weft::c_api {

// An architecture that weft_register_architecture() added, for the life of the process.
struct OwnArchitecture {
  std::string name;
  weft_architecture callbacks{};
};

// Hyper-parameters, with what `configure` read beyond them.
struct OwnHparams : arch::Hparams {
  const OwnArchitecture* own = nullptr;
  std::map<std::string, double, std::less<>> numbers;
  std::map<std::string, std::int64_t, std::less<>> integers;
};

struct ConfigObject : Object {
  static constexpr Kind kKind = Kind::config;
  ConfigObject(const arch::Keys& of, OwnHparams& to) : Object(kKind), keys(of), hparams(to) {}

  const CallbackScope scope;
  const arch::Keys& keys;
  OwnHparams& hparams;
  std::deque<std::string> texts;  // that were given out
};

struct BuilderObject : Object {
  static constexpr Kind kKind = Kind::builder;
  BuilderObject(const arch::Weights& w, const OwnHparams& c, const arch::Inputs& in)
      : Object(kKind), inputs(in), hparams(c), weights{w} {}

  const arch::Weights& current() const { return weights.back(); }

  const CallbackScope scope;
  const arch::Inputs& inputs;
  const OwnHparams& hparams;
  std::vector<arch::Weights> weights;  // the file's, and those of an open block
  std::shared_ptr<GraphObject> graph;
  weft_graph* graph_handle = nullptr;
};

// The usual scale of scores, in the arithmetic of the blocks in C++, so that plans have the same
// hash.
double score_scale(std::int64_t width);

template <class T>
std::shared_ptr<T> used_in_callback(const void* handle) {
  auto object = pin<T>(handle);
  object->scope.check(T::kKind);
  return object;
}

}  // namespace weft::c_api
