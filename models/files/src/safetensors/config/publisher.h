#pragma once
// For tests: writes the tensors of a GGUF file as a checkpoint stores them, under their names on
// Hugging Face.

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/arch/made_source.h"

#include "safetensors/tiny_directory.h"

namespace weft::test {

using StoredAs = arch::HfTensor::Stored;

struct Matrix {
  std::int64_t n_rows = 0, n_cols = 0;
  std::vector<float> values;

  explicit Matrix(std::int64_t rows, std::int64_t cols)
      : n_rows(rows), n_cols(cols), values(static_cast<std::size_t>(rows * cols)) {}
  float& at(std::int64_t r, std::int64_t c) {
    return values[static_cast<std::size_t>(r * n_cols + c)];
  }
  void copy_row(std::int64_t to, Matrix& from, std::int64_t row) {
    for (std::int64_t c = 0; c < n_cols; ++c) at(to, c) = from.at(row, c);
  }
};

class Publisher {
 public:
  Publisher(const Checkpoint& file, const arch::Architecture& architecture,
            const arch::MadeSizes& sizes)
      : file_(file), tables_(architecture.hugging_face), sizes_(sizes) {}

  std::string model_file() {
    for (const CheckpointTensor& tensor : file_.tensors()) publish(tensor);
    std::string text = header_.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    return test::stored_file(text, data_);
  }

 private:
  // Calls `use` for the rows of a table that a name of a GGUF file matches, with the name that
  // precedes theirs.
  const arch::HfTensor* find(std::string_view base, std::string& layer) const {
    for (const auto& table : {tables_.model_tensors, arch::usual_hf_model_tensors()}) {
      for (const arch::HfTensor& row : table) {
        if (matches(row.gguf_name, base, layer)) return &row;
      }
    }
    for (const auto& table : {tables_.tensors, arch::usual_hf_tensors()}) {
      for (const arch::HfTensor& row : table) {
        if (!row.gguf_name.empty() && matches("blk.#." + std::string(row.gguf_name), base, layer))
          return &row;
      }
    }
    return nullptr;
  }
  static bool matches(std::string_view pattern, std::string_view base, std::string& layer) {
    const std::size_t at = pattern.find('#');
    if (at == std::string_view::npos) return !pattern.empty() && pattern == base;
    if (!base.starts_with(pattern.substr(0, at))) return false;
    const std::size_t end = base.find('.', at);
    if (end == std::string_view::npos || base.substr(end) != pattern.substr(at + 1)) return false;
    layer = base.substr(at, end - at);
    return true;
  }

  void publish(const CheckpointTensor& tensor) {
    const std::size_t dot = tensor.name.rfind('.');
    std::string kind(tensor.name.substr(dot));
    std::string layer;
    const arch::HfTensor* row = find(tensor.name.substr(0, dot), layer);
    const bool own_kind = !row;  // its table has the whole name
    if (own_kind) row = find(tensor.name, layer);
    INFO(std::string(tensor.name));
    REQUIRE(row);
    const bool in_layer = !layer.empty() && row->hf_name.find('#') == std::string_view::npos;
    std::string name(row->hf_name);
    if (const std::size_t at = name.find('#'); at != std::string::npos) name.replace(at, 1, layer);
    if (own_kind) kind.clear();
    if (in_layer) name = std::string(tables_.layers) + layer + "." + name;
    name = std::string(tables_.prefixes[0]) + name;
    const std::size_t expert = name.find('*');
    if (expert == std::string::npos) return store(name + kind, tensor, row->stored);
    const Shape& shape = tensor.spec.shape;
    Matrix all = read(tensor);
    const std::int64_t n_rows = shape[1].bound;
    for (std::int64_t e = 0; e < shape[0].bound; ++e) {
      Matrix one(n_rows, all.n_cols);
      for (std::int64_t r = 0; r < n_rows; ++r) one.copy_row(r, all, e * n_rows + r);
      std::string own = name;
      write(own.replace(expert, 1, std::to_string(e)) + kind, {n_rows, all.n_cols}, one);
    }
  }

  void store(const std::string& name, const CheckpointTensor& tensor, StoredAs stored) {
    Matrix in = read(tensor);
    std::vector<std::int64_t> shape;
    for (const Dim& dim : tensor.spec.shape) shape.push_back(dim.bound);
    if (stored == StoredAs::less_one) {
      for (float& value : in.values) value -= 1;
    } else if (stored == StoredAs::transposed && shape.size() == 2) {
      Matrix out(in.n_cols, in.n_rows);
      for (std::int64_t r = 0; r < in.n_rows; ++r) {
        for (std::int64_t c = 0; c < in.n_cols; ++c) out.at(c, r) = in.at(r, c);
      }
      return write(name, {out.n_rows, out.n_cols}, out);
    } else if (stored == StoredAs::as_matrix) {
      shape.insert(shape.begin(), 1);
    } else if (stored == StoredAs::query_heads || stored == StoredAs::key_heads) {
      in = tables_.paired_rows ? halves(in, stored == StoredAs::query_heads ? sizes_.H : n_kv())
                               : in;
    } else if (stored == StoredAs::qkv_by_group) {
      in = by_group(in);
    } else if (stored == StoredAs::latent_keys) {
      const auto values = std::string(tensor.name).replace(tensor.name.find("_k_b"), 4, "_v_b");
      return write_latent(name, tensor, *file_.find_tensor(values));
    } else if (stored == StoredAs::gate_half) {
      const auto up = std::string(tensor.name).replace(tensor.name.find("_gate"), 5, "_up");
      return write_halves(name, tensor.spec.shape, in, read(*file_.find_tensor(up)));
    } else if (stored == StoredAs::latent_values || stored == StoredAs::up_half) {
      return;  // written with the other part
    }
    write(name, shape, in);
  }

  std::int64_t n_kv() const { return sizes_.G; }

  Matrix halves(Matrix& in, std::int64_t n_heads) const {
    const std::int64_t E = in.n_rows / n_heads;
    Matrix out(in.n_rows, in.n_cols);
    for (std::int64_t r = 0; r < in.n_rows; ++r)
      out.copy_row(r - r % E + r % 2 * (E / 2) + r % E / 2, in, r);
    return out;
  }
  Matrix by_group(Matrix& in) const {
    const std::int64_t H = sizes_.H, G = n_kv(), E = in.n_rows / (H + 2 * G), n = H / G;
    Matrix out(in.n_rows, in.n_cols);
    std::int64_t to = 0;
    for (std::int64_t g = 0; g < G; ++g) {
      for (std::int64_t i = 0; i < n * E; ++i) out.copy_row(to++, in, g * n * E + i);
      for (std::int64_t i = 0; i < E; ++i) out.copy_row(to++, in, (H + g) * E + i);
      for (std::int64_t i = 0; i < E; ++i) out.copy_row(to++, in, (H + G + g) * E + i);
    }
    return out;
  }
  void write_latent(const std::string& name, const CheckpointTensor& keys,
                    const CheckpointTensor& values) {
    const Shape &k = keys.spec.shape, &v = values.spec.shape;
    const std::int64_t H = k[0].bound, rank = k[1].bound, E = k[2].bound, Ev = v[1].bound;
    Matrix key_rows = read(keys), value_rows = read(values), out(H * (E + Ev), rank);
    for (std::int64_t h = 0; h < H; ++h) {
      for (std::int64_t e = 0; e < E; ++e) {
        for (std::int64_t c = 0; c < rank; ++c)
          out.at(h * (E + Ev) + e, c) = key_rows.at(h * rank + c, e);
      }
      for (std::int64_t e = 0; e < Ev; ++e)
        out.copy_row(h * (E + Ev) + E + e, value_rows, h * Ev + e);
    }
    write(name, {out.n_rows, rank}, out);
  }

  void write_halves(const std::string& name, const Shape& shape, Matrix& first, Matrix second) {
    const std::int64_t X = shape[0].bound, F = shape[1].bound;
    Matrix out(2 * X * F, first.n_cols);
    for (std::int64_t r = 0; r < X * F; ++r) {
      out.copy_row(r / F * 2 * F + r % F, first, r);
      out.copy_row(r / F * 2 * F + r % F + F, second, r);
    }
    write(name, {X, 2 * F, first.n_cols}, out);
  }

  // A vector has rows of one element.
  static Matrix read(const CheckpointTensor& tensor) {
    const bool vector = tensor.spec.shape.n_dims() < 2;
    const std::int64_t n_cols = vector ? 1 : tensor.spec.shape.last();
    Matrix m(tensor.spec.shape.elems() / n_cols, n_cols);
    copy_rows(tensor, 0, tensor.n_rows(), reinterpret_cast<std::byte*>(m.values.data()));
    return m;
  }
  void write(const std::string& name, const std::vector<std::int64_t>& shape, const Matrix& m) {
    const std::size_t n = m.values.size() * sizeof(float), at = data_.size();
    header_[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {at, at + n}}};
    data_.append(reinterpret_cast<const char*>(m.values.data()), n);
  }

  const Checkpoint& file_;
  const arch::HuggingFace& tables_;
  arch::MadeSizes sizes_;
  Json header_ = Json::object();
  std::string data_;
};

}  // namespace weft::test
