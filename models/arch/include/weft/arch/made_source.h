#pragma once
// A synthetic model file: keys that give its sizes, and a tensor for every weight that builder code
// declares while a graph is built. models/files can write it to disk (made_model.h).

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/arch/builder.h"

namespace weft::arch {

// The sizes of a decoder; letters as in docs/glossary.md, Ev for E'. Those that are 0 here have a
// key in the file only if they are set.
struct MadeSizes {
  std::int64_t L = 2, D = 64, H = 4, G = 2;
  std::int64_t E = 0;   // width of a head
  std::int64_t Ev = 0;  // width of a head's values; with 0 it is E
  std::int64_t R = 0;   // width of the part that rope rotates; with 0 it is E
  std::int64_t F = 96, V = 50;
  std::int64_t X = 0;             // experts, in layers that can have them
  std::int64_t K = 2;             // experts per token, if there are any
  std::int64_t expert_F = 32;     // width of an expert, if there are any
  std::int64_t draft_layers = 0;  // layers behind the L, which draft for the model
  std::int64_t context = 256;
  double rope_base = 0;
};

class MadeSource final : public ModelSource {
 public:
  using Value = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>>;

  // Sets the keys that decoders share, with a vocabulary without texts.
  explicit MadeSource(const std::string& architecture, const MadeSizes& sizes = {});

  // May be changed freely. learn() adds those that the architecture requires beyond the usual ones.
  mutable std::map<std::string, Value, std::less<>> keys;
  std::string path = "made up";

  // The type of a declared tensor, if the ops that use it take that type. Default: F32.
  std::function<DType(std::string_view name, const Shape& shape)> type_of;
  // Whether it also has optional tensors.
  bool optional_tensors = false;
  // The endings of the names of optional tensors that it has in any case: ".bias".
  std::vector<std::string> optional_endings;

  // Sets a key of the architecture, whose name `key` lacks: "expert_count".
  void set(std::string_view key, Value value);

  // Builds the graphs of the architecture and adds every key and tensor that they require; with the
  // key nextn_predict_layers, also those of the first draft layer. Afterwards the source behaves
  // like a file: only add() adds tensors. Throws what find_architecture(), configure() and
  // build_graph() throw.
  void learn();
  void learn(const Architecture& architecture);
  void add(const std::string& name, const TensorSpec& spec);  // or replaces it
  void remove(std::string_view name);
  struct Tensor {
    std::string name;
    TensorSpec spec;
  };
  const std::deque<Tensor>& tensors() const { return tensors_; }  // in the order of use

  std::string_view file() const override { return path; }
  std::optional<std::uint64_t> find_uint(std::string_view key) const override;
  std::optional<double> find_float(std::string_view key) const override;
  std::optional<bool> find_bool(std::string_view key) const override;
  std::optional<std::string_view> find_string(std::string_view key) const override;
  std::vector<std::int64_t> find_ints(std::string_view key) const override;
  std::vector<float> find_floats(std::string_view key) const override;
  std::int64_t array_size(std::string_view key) const override;
  bool make_up(std::string_view key) const override;
  const TensorSpec* find_tensor(std::string_view name) const override;
  std::vector<std::string_view> tensor_names() const override;
  const TensorSpec* declare(std::string_view name, const Shape& shape,
                            bool optional) const override;

 private:
  template <class T>
  const T* find(std::string_view key) const;

  Config learn_keys(const Architecture& architecture);
  void choose_types(const Graph& graph, std::size_t first);

  std::string architecture_;
  std::int64_t width_;                  // D
  mutable std::deque<Tensor> tensors_;  // learned from declare()
  bool learning_ = false;
};

// For MadeSource::type_of: `type` for matrices whose rows are whole blocks of it, F32 for the rest
// and for norms.
std::function<DType(std::string_view, const Shape&)> matrices_of(DType type);

}  // namespace weft::arch
