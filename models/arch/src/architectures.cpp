#include <deque>
#include <mutex>
#include <vector>

#include "weft/arch/builder.h"
#include "weft/arch/eagle3.h"
#include "weft/base/error.h"
#include "weft/base/fork_mutex.h"
#include "weft/base/no_destructor.h"
#include "weft/base/text.h"

#include "decoder/text.h"

namespace weft::arch {

// The one list, by name.
#define WEFT_ARCHITECTURES(X) \
  X(kTrinity)                 \
  X(kApertus)                 \
  X(kArcee)                   \
  X(kArctic)                  \
  X(kArwkv7)                  \
  X(kBaichuan)                \
  X(kBailingMoe)              \
  X(kBailingMoe2)             \
  X(kBailingMoe3)             \
  X(kBert)                    \
  X(kBitnet)                  \
  X(kBitnet158)               \
  X(kBitnet25)                \
  X(kBloom)                   \
  X(kChameleon)               \
  X(kChatGlm)                 \
  X(kCodeShell)               \
  X(kCogVlm)                  \
  X(kCohere2)                 \
  X(kCohere2Moe)              \
  X(kCohere2MoeOther)         \
  X(kCommandR)                \
  X(kDbrx)                    \
  X(kDeci)                    \
  X(kDeepSeek)                \
  X(kDeepSeek2)               \
  X(kDeepSeek2Ocr)            \
  X(kDeepSeek32)              \
  X(kDeepSeek4)               \
  X(kDots1)                   \
  X(kDream)                   \
  X(kErnie45)                 \
  X(kErnie45Moe)              \
  X(kEuroBert)                \
  X(kExaone)                  \
  X(kExaoneMoe)               \
  X(kExaone4)                 \
  X(kFalcon)                  \
  X(kFalconH1)                \
  X(kGemma)                   \
  X(kGemmaEmbedding)          \
  X(kGemma2)                  \
  X(kGemma3)                  \
  X(kGemma3n)                 \
  X(kGemma4)                  \
  X(kGlmDsa)                  \
  X(kGlm4)                    \
  X(kGlm4Moe)                 \
  X(kGptOss)                  \
  X(kGpt2)                    \
  X(kGptNeoX)                 \
  X(kGraniteDense)            \
  X(kGraniteHybrid)           \
  X(kGraniteMoe)              \
  X(kGraniteSwitch)           \
  X(kGrok)                    \
  X(kGroveMoe)                \
  X(kHunyuanDense)            \
  X(kHunyuanMoe)              \
  X(kHunyuanVl)               \
  X(kHunyuan3)                \
  X(kInternLm2)               \
  X(kJais)                    \
  X(kJais2)                   \
  X(kJamba)                   \
  X(kJinaBert2)               \
  X(kJinaBert3)               \
  X(kKimiK3)                  \
  X(kKimiLinear)              \
  X(kLaguna)                  \
  X(kLfm2)                    \
  X(kLfm2Moe)                 \
  X(kLlada)                   \
  X(kLladaMoe)                \
  X(kLlama)                   \
  X(kLlamaEmbed)              \
  X(kLlama4)                  \
  X(kMaincoder)               \
  X(kMamba)                   \
  X(kMamba2)                  \
  X(kMellum)                  \
  X(kMimo2)                   \
  X(kMiniCpm)                 \
  X(kMiniCpm3)                \
  X(kMiniMax01)               \
  X(kMiniMaxM2)               \
  X(kMiniMaxM3)               \
  X(kMistral3)                \
  X(kMistral4)                \
  X(kModernBert)              \
  X(kMpt)                     \
  X(kMuseGlimmer)             \
  X(kNanbeige)                \
  X(kNemotron)                \
  X(kNemotronH)               \
  X(kNemotronHMoe)            \
  X(kNeoBert)                 \
  X(kNomicBert)               \
  X(kNomicBertMoe)            \
  X(kOlmo)                    \
  X(kOlmo2)                   \
  X(kOlmoe)                   \
  X(kOpenElm)                 \
  X(kOpenPangu)               \
  X(kOrion)                   \
  X(kPaddleOcr)               \
  X(kPanguEmbedded)           \
  X(kPhi2)                    \
  X(kPhi3)                    \
  X(kPhiMoe)                  \
  X(kPlamo)                   \
  X(kPlamo2)                  \
  X(kPlamo3)                  \
  X(kPlm)                     \
  X(kQwen)                    \
  X(kQwen2)                   \
  X(kQwen2Moe)                \
  X(kQwen2Vl)                 \
  X(kQwen3)                   \
  X(kQwen35)                  \
  X(kQwen35Moe)               \
  X(kQwen3Moe)                \
  X(kQwen3Next)               \
  X(kQwen3Vl)                 \
  X(kQwen3VlMoe)              \
  X(kRefact)                  \
  X(kRnd1)                    \
  X(kRwkv6)                   \
  X(kRwkv6Qwen2)              \
  X(kRwkv7)                   \
  X(kSeedOss)                 \
  X(kSmallThinker)            \
  X(kSmolLm3)                 \
  X(kStableLm)                \
  X(kStarCoder)               \
  X(kStarCoder2)              \
  X(kStep35)                  \
  X(kT5)                      \
  X(kT5Encoder)               \
  X(kTalkie)                  \
  X(kXverse)

#define WEFT_DECLARE(name) extern const Architecture name;
WEFT_ARCHITECTURES(WEFT_DECLARE)
#undef WEFT_DECLARE

namespace {

// The architectures of other projects. A deque, because models keep pointers to them.
struct Registered {
  ForkMutex adding;  // taken first
  ForkMutex mutex;
  std::deque<Architecture> list;
};
Registered& registered() {
  static NoDestructor<Registered> one;
  return *one;
}

}  // namespace

std::vector<const Architecture*> architectures() {
#define WEFT_POINTER(name) &name,
  std::vector<const Architecture*> list{WEFT_ARCHITECTURES(WEFT_POINTER)};
#undef WEFT_POINTER
  const std::lock_guard lock(registered().mutex);
  for (const Architecture& a : registered().list) list.push_back(&a);
  return list;
}

void register_architecture(const Architecture& architecture) {
  if (architecture.name.empty() || !architecture.build)
    fail<ValueError>("an architecture needs a name and a build function");
  const std::lock_guard adding(registered().adding);
  for (const Architecture* a : architectures()) {
    if (a->name == architecture.name)
      fail<ValueError>("an architecture '{}' already exists", architecture.name);
  }
  const std::lock_guard lock(registered().mutex);
  registered().list.push_back(architecture);
}

namespace {

std::vector<std::string_view> known_names() {
  std::vector<std::string_view> names;
  for (const Architecture* a : architectures()) names.push_back(a->name);
  return names;
}

}  // namespace

const Architecture& find_architecture(const ModelSource& source) {
  const std::string_view type = source.find_string("general.type").value_or("model");
  if (type == "mmproj" || type == "adapter" || type == "imatrix") {
    fail<UnsupportedError>("{}: not a model: key 'general.type' is '{}'", source.file(), type);
  }
  const auto name = source.find_string("general.architecture");
  if (!name) fail<FormatError>("{}: key 'general.architecture' is missing", source.file());
  for (const Architecture* a : architectures()) {
    if (a->name == *name) return *a;
  }
  const std::string shown = short_name(*name);
  if (*name == kEagle3)
    fail<UnsupportedError>("{}: not a model, but a head that drafts for one", source.file());
  fail<UnsupportedError>("{}: unsupported architecture '{}'{}", source.file(), shown,
                         nearest_known(shown, known_names()));
}

Config configure(const ModelSource& source, const Architecture& architecture) {
  const Keys keys(source, architecture.name);
  if (architecture.configure) return architecture.configure(keys);
  return std::make_shared<const Hparams>(read_hparams(keys));
}

}  // namespace weft::arch
