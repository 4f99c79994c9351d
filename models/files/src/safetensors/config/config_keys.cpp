#include "safetensors/config/config_keys.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/error.h"
#include "weft/base/printable.h"

namespace weft::safetensors {
namespace {

using Kind = arch::HfKey::Kind;
using IfAbsent = arch::HfKey::IfAbsent;

[[noreturn]] void missing(const JsonObject& json, std::string_view key) {
  fail<FormatError>("{}: '{}' is missing", printable_path(json.file()), json.name(key));
}

// Counts that shape a model: without one of them there is none.
constexpr std::string_view kAtLeastOne[] = {
    "vocab_size",           "context_length",          "embedding_length",
    "block_count",          "feed_forward_length",     "attention.head_count",
    "attention.key_length", "attention.head_count_kv", "attention.value_length"};

bool is_null(const JsonObject& json, std::string_view key) {
  return json.json().contains(key) && !json.find(key);
}

}  // namespace

std::string ConfigKeys::name(std::string_view key) const {
  return fmt::format("{}.{}", arch_, key);
}

void ConfigKeys::add_count(std::string_view key, std::uint64_t value, std::string_view hf_name) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
    json_.mismatch(hf_name, "below 2^31");
  sink_.add_u32(name(key), static_cast<std::uint32_t>(value));
  done_.emplace(key, static_cast<double>(value));
}

void ConfigKeys::add_number(std::string_view key, double value) {
  sink_.add_f32(name(key), static_cast<float>(value));
  done_.emplace(key, value);
}

void ConfigKeys::add_text(std::string_view key, std::string_view value) {
  sink_.add_string(name(key), value);
  done_.emplace(key, 0);
}

void ConfigKeys::add_flag(std::string_view key, bool value) {
  sink_.add_bool(name(key), value);
  done_.emplace(key, value ? 1 : 0);
}

void ConfigKeys::add_flags(std::string_view key, const std::vector<bool>& flags) {
  const auto array = std::make_shared<const MetaArray>(MetaArray{MetaType::boolean, flags});
  sink_.add(name(key), {MetaType::array, array});
  done_.emplace(key, 0);
}

std::optional<double> ConfigKeys::find(std::string_view key) const {
  const auto found = done_.find(key);
  return found == done_.end() ? std::nullopt : std::optional(found->second);
}

void ConfigKeys::add(std::span<const arch::HfKey> table) {
  for (const arch::HfKey& row : table) {
    if (!done_.contains(row.gguf_name) && applies(row)) add(row);
  }
}

bool ConfigKeys::applies(const arch::HfKey& row) const {
  if (!row.type.empty() && row.type != type_) return false;
  if (!row.when.empty() && !json_.find_bool(row.when).value_or(row.when_absent)) return false;
  return row.if_absent != IfAbsent::omit || json_.find(row.hf_name);
}

void ConfigKeys::add(const arch::HfKey& row) {
  switch (row.kind) {
    case Kind::count:
      return add_count(row.gguf_name, checked_count(row), row.hf_name);
    case Kind::number:
      return add_number(row.gguf_name, number(row));
    case Kind::inverse_root:
      // As builders compute it.
      return add_number(row.gguf_name, 1 / std::sqrt(static_cast<float>(number(row))));
    case Kind::flag:
      return add_flag(row.gguf_name, flag(row));
    case Kind::word:
      return add_count(row.gguf_name, word(row), row.hf_name);
    case Kind::text:
      return add_text(row.gguf_name, text(row));
    case Kind::none:
      break;
  }
  done_.emplace(row.gguf_name, 0);
}

std::uint64_t ConfigKeys::checked_count(const arch::HfKey& row) const {
  const std::uint64_t value = count(row);
  if (value == 0 && std::ranges::count(kAtLeastOne, row.gguf_name) > 0)
    json_.mismatch(json_.find(row.hf_name) || row.other.empty() ? row.hf_name : row.other,
                   "at least 1");
  return value;
}

std::uint64_t ConfigKeys::count(const arch::HfKey& row) const {
  std::uint64_t value = 0;
  if (json_.find(row.hf_name)) {
    value = json_.uint(row.hf_name);
  } else if (row.if_absent == IfAbsent::same_as) {
    value = json_.uint(row.other);
  } else if (row.if_absent == IfAbsent::multiple_of) {
    const std::uint64_t other = json_.uint(row.other);
    if (other > INT32_MAX) json_.mismatch(row.other, "below 2^31");
    value = other * static_cast<std::uint64_t>(row.value);
  } else if (row.if_absent == IfAbsent::use_default) {
    const bool of_other = !row.other.empty() && is_null(json_, row.hf_name);
    value = of_other ? json_.uint(row.other) : static_cast<std::uint64_t>(row.value);
  } else {
    missing(json_, row.hf_name);
  }
  if (row.plus.empty()) return value;
  const std::uint64_t more = json_.uint(row.plus);
  if (value > INT32_MAX || more > INT32_MAX) json_.mismatch(row.plus, "below 2^31");
  return value + more;
}

double ConfigKeys::number(const arch::HfKey& row) const {
  if (const auto value = json_.find_number(row.hf_name)) return *value;
  if (row.null_is_zero && is_null(json_, row.hf_name)) return 0;
  if (row.if_absent == IfAbsent::use_default && !row.other.empty() && is_null(json_, row.hf_name)) {
    if (const auto value = json_.find_number(row.other)) return *value;
    missing(json_, row.other);
  }
  if (row.if_absent == IfAbsent::use_default) return row.value;
  missing(json_, row.hf_name);
}

bool ConfigKeys::flag(const arch::HfKey& row) const {
  if (const auto value = json_.find_bool(row.hf_name)) return *value;
  if (row.if_absent == IfAbsent::use_default) return row.value != 0;
  missing(json_, row.hf_name);
}

std::string ConfigKeys::text(const arch::HfKey& row) const {
  if (auto value = json_.find_string(row.hf_name)) return *value;
  if (row.if_absent == IfAbsent::use_default) return std::string(row.words[0]);
  missing(json_, row.hf_name);
}

std::uint64_t ConfigKeys::word(const arch::HfKey& row) const {
  const auto text = json_.find_string(row.hf_name);
  if (!text && row.if_absent == IfAbsent::use_default) return static_cast<std::uint64_t>(row.value);
  if (!text) missing(json_, row.hf_name);
  const auto* const found = std::ranges::find(row.words, *text);
  if (found == row.words.end() || text->empty()) {
    fail<UnsupportedError>("{}: '{}' is '{}', which is not supported", printable_path(json_.file()),
                           json_.name(row.hf_name), printable(*text));
  }
  return static_cast<std::uint64_t>(found - row.words.begin()) + 1;
}

}  // namespace weft::safetensors
