// Parses arbitrary bytes as a GGUF file, which must succeed or throw weft::Error. A parsed file
// must be readable in every way, and be the same after it is written and parsed again. If it is the
// file of a rank, every tensor of the model can be asked for.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"
#include "weft/files/gguf_writer.h"
#include "weft/files/rank_file.h"
#include "weft/files/weft_keys.h"

namespace {

using weft::Checkpoint;

void require(bool ok) {
  if (!ok) std::abort();
}

// Calls `read`, which may throw weft::Error and nothing else.
template <class Read>
void attempt(Read read) {
  try {
    read();
  } catch (const weft::Error&) {
  }
}

void read_typed(const Checkpoint& file, std::string_view key) {
  attempt([&] { file.find_uint(key); });
  attempt([&] { file.find_int(key); });
  attempt([&] { file.find_float(key); });
  attempt([&] { file.find_bool(key); });
  attempt([&] { file.find_string(key); });
  attempt([&] { file.find_strings(key); });
  attempt([&] { file.find_floats(key); });
  attempt([&] { file.find_ints(key); });
  attempt([&] { file.find_bools(key); });
  require(file.find(key) != nullptr);
  require(weft::printable(key, key.size()).size() >= key.size());
}

void check_same(const Checkpoint& a, const Checkpoint& b) {
  require(a.tensors().size() == b.tensors().size());
  for (const weft::CheckpointTensor& x : a.tensors()) {
    const weft::CheckpointTensor* y = b.find_tensor(x.name);
    require(y && x.spec == y->spec && x.n_bytes == y->n_bytes);
    require(std::memcmp(x.data, y->data, static_cast<std::size_t>(x.n_bytes)) == 0);
  }
}

void round_trip(const Checkpoint& file) {
  weft::GgufWriter writer(file.alignment());
  for (const weft::MetaEntry& e : file.metadata()) {
    if (!e.key.empty() && e.key != "general.alignment") writer.add(e.key, e.value);
  }
  for (const weft::CheckpointTensor& t : file.tensors()) {
    if (t.name.empty()) return;
    writer.add_tensor(std::string(t.name), t.spec,
                      std::span(t.data, static_cast<std::size_t>(t.n_bytes)));
  }
  const std::vector<std::byte> bytes = writer.to_bytes();
  check_same(file, Checkpoint::parse(bytes, "again"));
}

void read_parts(const Checkpoint& file) {
  if (!weft::rank_file_facts(file)) return;
  const Checkpoint model = weft::model_of_rank_file(file);
  const auto named_parts = file.find_strings(weft::kSplitPartsKey);
  for (const weft::CheckpointTensor& t : model.tensors()) {
    require(t.absent && model.find_tensor(t.name) != nullptr);
    for (const std::string_view name : *named_parts) {
      const weft::TensorPart part{.name = std::string(name), .source = std::string(t.name)};
      attempt([&] { model.with_parts(std::span(&part, 1)); });
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  attempt([&] {
    const Checkpoint file = Checkpoint::parse(std::as_bytes(std::span(data, size)), "input");
    for (const weft::MetaEntry& e : file.metadata()) read_typed(file, e.key);
    for (const weft::CheckpointTensor& t : file.tensors()) attempt([&] { file.require_format(t); });
    attempt([&] { read_parts(file); });
    round_trip(file);
  });
  return 0;
}
