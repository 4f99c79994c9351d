#include "sanity.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/base/printable.h"
#include "weft/ops/formats/format.h"
#include "weft/tokenize/tokenizer.h"

#include "borders.h"

namespace weft::checks {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEFT_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(WEFT_SANITIZED)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

struct TensorFacts {
  std::int64_t non_finite = 0, first_non_finite = -1;
  double largest = 0;
};

TensorFacts look_at(const CheckpointTensor& tensor, const Format& format, std::vector<float>& row) {
  TensorFacts facts;
  const std::int64_t n = tensor.spec.shape.elems(), cols = tensor.spec.shape.last();
  row.resize(static_cast<std::size_t>(cols));
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.row_bytes()));
  for (std::int64_t at = 0; at < n; at += cols) {
    copy_rows(tensor, at / cols, at / cols + 1, bytes.data());
    format.decode(bytes.data(), row.data(), cols);
    for (std::int64_t i = 0; i < cols; ++i) {
      const float v = row[static_cast<std::size_t>(i)];
      if (!std::isfinite(v)) {
        if (facts.non_finite++ == 0) facts.first_non_finite = at + i;
      } else {
        facts.largest = std::max(facts.largest, std::fabs(static_cast<double>(v)));
      }
    }
  }
  return facts;
}

// The resident anonymous memory of this process; nullopt if the system does not report it.
std::optional<std::int64_t> anonymous_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::atoll(line.c_str() + 8) * 1024;
  }
  return std::nullopt;
}

}  // namespace

SelfCheck run_check(const std::string& name, const std::function<std::string()>& f) {
  try {
    return {name, Verdict::passed, f()};
  } catch (const Failed& failed) {
    return {name, Verdict::failed, failed.why};
  } catch (const Skipped& skipped) {
    return {name, Verdict::skipped, skipped.why};
  } catch (const CancelledError&) {
    throw;
  } catch (const std::exception& e) {
    return {name, Verdict::failed, e.what()};
  }
}

std::string check_tensors(const Model& model) {
  std::vector<float> row;
  std::string bad, zeros;
  std::int64_t n_bad = 0, n_zero = 0;
  double largest = 0;
  std::string largest_name;
  // A rank need not have more of a model than its part.
  const Checkpoint& file = model.sharding().ranks() > 1 ? model.weights() : model.file();
  for (const CheckpointTensor& tensor : file.tensors()) {
    const Format* format = find_format(tensor.spec.dtype);
    if (!format || format->is_integer || tensor.spec.shape.elems() == 0) continue;
    const TensorFacts facts = look_at(tensor, *format, row);
    if (facts.non_finite > 0 && n_bad++ < 3) {
      bad +=
          fmt::format("{}'{}' has {} NaN or Inf, the first at element {}", bad.empty() ? "" : "; ",
                      printable(tensor.name), facts.non_finite, facts.first_non_finite);
    }
    if (facts.largest == 0 && facts.non_finite == 0 && n_zero++ < 3)
      zeros += fmt::format("{}'{}'", zeros.empty() ? "" : ", ", printable(tensor.name));
    if (facts.largest > largest) {
      largest = facts.largest;
      largest_name = tensor.name;
    }
  }
  if (n_bad > 0) throw Failed{fmt::format("{} tensors are damaged: {}", n_bad, bad)};
  std::string text = fmt::format("{} tensors, all numbers finite, the largest {:.4g} in '{}'",
                                 file.tensors().size(), largest, printable(largest_name));
  if (n_zero > 0) text += fmt::format("; {} are all zeros: {}", n_zero, zeros);
  return text;
}

namespace {

// Whether the tokenizer's kind preserves texts; other kinds normalize case, spaces or characters.
bool keeps_texts(const Model& model) {
  constexpr std::string_view kKinds[] = {"gpt2", "llama", "rwkv", "gemma4"};
  return std::ranges::find(kKinds, model.vocabulary().kind()) != std::end(kKinds) &&
         !model.file().find("tokenizer.ggml.precompiled_charsmap");
}

}  // namespace

// Words, white space, several scripts, emoji, a single letter. A text that comes back changed must
// at least have the same tokens.
std::string check_round_trip(const Model& model) {
  if (!model.has_tokenizer()) throw Skipped{"the file has no tokenizer"};
  constexpr std::string_view kTexts[] = {"Once upon a time there was a fox.",
                                         "  two spaces,\ttab,\nline\r\nend  ",
                                         "int main() { return 0x1F + 3.14e-2; }",
                                         "Grüße, naïve café",
                                         "Привет, мир",
                                         "日本語のテキスト",
                                         "😀👩‍🚀",
                                         "a",
                                         " ",
                                         "1234567890"};
  const Tokenizer& tokenizer = model.tokenizer();
  const bool exact = keeps_texts(model);
  std::size_t n_tokens = 0, n_changed = 0;
  for (const std::string_view text : kTexts) {
    const auto ids = tokenizer.encode(text, {.add_special = false});
    n_tokens += ids.size();
    const std::string back = tokenizer.decode(ids, {.strip_space_prefix = true});
    if (back == text) continue;
    const TokenId unknown = model.vocabulary().special().unk;
    if (std::ranges::find(ids, unknown) != ids.end()) {
      throw Skipped{
          fmt::format("the vocabulary has no tokens for all bytes of '{}'", printable(text))};
    }
    const std::string what =
        fmt::format("'{}' is decoded as '{}'", printable(text), printable(back));
    if (exact) throw Failed{what};
    if (tokenizer.encode(back, {.add_special = false}) != ids)
      throw Skipped{fmt::format("tokenizers of kind '{}' change texts: {}",
                                printable(model.vocabulary().kind()), what)};
    ++n_changed;
  }
  std::string summary = fmt::format("{} texts, {} tokens", std::size(kTexts), n_tokens);
  if (n_changed > 0)
    summary += fmt::format("; {} are decoded differently, with the same tokens", n_changed);
  return summary;
}

std::string check_memory(const std::shared_ptr<const Model>& model, const SessionOptions& options,
                         const std::vector<std::int32_t>& tokens) {
  // For the allocator's overhead, graphs, plans and tables of kernels.
  constexpr std::int64_t kSlack = std::int64_t{24} << 20;
  const auto before = anonymous_bytes();
  Session session(model, options);
  const std::int64_t planned = session.memory().total() - session.memory().weights_mapped;
  const std::int64_t allocated = session.allocated_bytes();
  const std::int64_t expected = planned - session.options().reserved - session.memory().program;
  if (allocated != expected)
    throw Failed{fmt::format("{} planned, {} allocated", expected, allocated)};
  session.fill_with_noise(0, session.options().context);  // touches every cell of the cache
  session.truncate(0, 0);
  encode_in_all_sequences(session);
  session.feed(0, tokens);
  const auto after = anonymous_bytes();
  const std::string exact = fmt::format("{} planned and allocated", human_bytes(allocated));
  if (kSanitized) return exact + "; growth not looked at: sanitizers take memory of their own";
  if (session.memory().device > 0)
    return exact + "; growth not looked at: drivers of devices take memory of their own";
  if (model->sharding().ranks() > 1)
    return exact + "; growth not looked at: ranks and their messages take memory, too";
  if (!before || !after) return exact + "; the system does not report the growth";
  const std::int64_t grown = *after - *before;
  if (grown > planned + kSlack)
    throw Failed{fmt::format("{} planned, but the process grew by {}", human_bytes(planned),
                             human_bytes(grown))};
  const std::int64_t touched = session.memory().weights_resident + session.memory().state;
  if (grown < touched - kSlack)
    throw Failed{fmt::format("weights and cache of {} were filled, but the process grew by {}",
                             human_bytes(touched), human_bytes(grown))};
  return fmt::format("{}, process grew by {}", exact,
                     human_bytes(std::max<std::int64_t>(grown, 0)));
}

}  // namespace weft::checks
