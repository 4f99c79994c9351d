#pragma once
// The keys that only Weft uses in GGUF files, for facts of directories of safetensors that no
// common key can express, and for files of ranks. All of them: docs/safetensors.md lists them for
// users, and tests/layers compares.
//
// The reader of directories (src/safetensors/) writes them, so that `weft convert` keeps them in
// the file. A file without them means the default.

namespace weft {

// Tokenizer. Read by read_vocabulary() (weft/files/vocabulary_file.h).

// i32s: the ids of special tokens that absorb the white space before or after them, and of those
// that are not found inside words. Absent: the tokens of models that Weft knows by name.
inline constexpr const char* kStripLeftKey = "weft.tokenizer.strip_left";
inline constexpr const char* kStripRightKey = "weft.tokenizer.strip_right";
inline constexpr const char* kWholeWordsKey = "weft.tokenizer.whole_words";

// Bool: the space before a text does not go before the texts after special tokens. Absent: it does.
inline constexpr const char* kPrefixOnceKey = "weft.tokenizer.prefix_once";

// String: how tokenizer.json makes tokens of a text, as JSON (src/safetensors/tokenizer/
// pipeline_json.h); f64s: the scores of its unigram model. Absent: as tokenizer.ggml.model says.
inline constexpr const char* kPipelineKey = "weft.tokenizer.pipeline";
inline constexpr const char* kPipelineScoresKey = "weft.tokenizer.pipeline_scores";

// i32s: the ids of tokens that end a reply, besides eos, eot and eom.
inline constexpr const char* kMoreEndsKey = "weft.tokenizer.more_ends";

// i32s: the forms of a text and of a pair: per part a token's id, or one of the numbers below; and
// the type of each part, if it is not 0 for all. A form of a pair that is empty: pairs cannot be
// encoded. Absent: the form that follows from add_bos_token,
// add_eos_token and add_sep_token.
inline constexpr const char* kTextFormKey = "weft.tokenizer.text_form";
inline constexpr const char* kTextTypesKey = "weft.tokenizer.text_types";
inline constexpr const char* kPairFormKey = "weft.tokenizer.pair_form";
inline constexpr const char* kPairTypesKey = "weft.tokenizer.pair_types";
inline constexpr int kFirstText = -1, kSecondText = -2;

// The work of sentence-transformers' modules on the vectors of tokens. Read by Embedder
// (weft/serve/embeddings.h).

// String: a pooling without a number in ARCH.pooling_type, or several: "cls+max" (see pooling.h).
inline constexpr const char* kPoolingKey = "weft.embedding.pooling";

// Strings: the activations of dense_2, dense_3, ... (weft/arch/dense_names.h) in this order, as in
// weft/files/dense_activations.h. Absent: none has one.
inline constexpr const char* kDenseActivationsKey = "weft.embedding.dense_activations";

// Bool: whether vectors of texts have length 1. Absent: they have.
inline constexpr const char* kNormalizeKey = "weft.embedding.normalize";

// u32: the number of tokens of the longest text for which the model is meant, special tokens
// included. Absent: the model's context.
inline constexpr const char* kMaxTokensKey = "weft.embedding.max_tokens";

// The model. Read by Model::load().

// Bool: the file has no output matrix although the embeddings do not serve as one: it gives
// embeddings and scores, but no logits. Absent: the embeddings do.
inline constexpr const char* kWithoutOutputKey = "weft.without_output";

// The file of one rank of a model (weft/files/rank_file.h). Read by Model::load().

// String, u64, u32, u32: the sharding, "tp=2,pp=2"; the elements below which it cuts no projection;
// the rank, and how many there are.
inline constexpr const char* kSplitShardingKey = "weft.split.sharding";
inline constexpr const char* kSplitMinElemsKey = "weft.split.min_elems";
inline constexpr const char* kSplitRankKey = "weft.split.rank";
inline constexpr const char* kSplitRanksKey = "weft.split.ranks";

// u64: a hash of some of the model's weights, which ranks compare.
inline constexpr const char* kSplitSampleKey = "weft.split.sample";

// The tensors of the model. Strings: their names. i64s: their types, by the numbers of GGUF; their
// shapes, four numbers for each, the slowest dimension first and the rest 0.
inline constexpr const char* kSplitTensorsKey = "weft.split.tensors";
inline constexpr const char* kSplitTypesKey = "weft.split.types";
inline constexpr const char* kSplitShapesKey = "weft.split.shapes";

// Strings: what the tensors part.0, part.1, ... of the file are parts of.
inline constexpr const char* kSplitPartsKey = "weft.split.parts";

}  // namespace weft
