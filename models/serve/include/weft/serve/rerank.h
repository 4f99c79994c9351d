#pragma once
// Reranking: how well documents answer a query, by a model with a classifier (a cross-encoder),
// which reads the query and a document as one text.
//
//   weft::Embedder embedder(model, {.pooling = weft::Pooling::rank});
//   for (const weft::RankedDocument& d : weft::rerank(embedder, query, documents))
//     use(documents[d.index], d.score);

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/serve/embeddings.h"

namespace weft {

// The tokens of a query and a document as the model was trained to read them. If the file has a
// template for that (tokenizer.chat_template.rerank, with the words {query} and {document}): its
// text, in which special tokens count, but not those of query and document. Else the pair of the
// vocabulary (TextForms::pair) with its types: BERT reads [CLS] q [SEP] d [SEP], where the document
// has type 1, and XLM-RoBERTa <s> q </s> </s> d </s>.
//
// If `max_tokens` is not 0, the document is cut to a beginning with which the pair meets it. Throws
// ValueError if the query alone is longer, FormatError for a template without {query} or
// {document}, UnsupportedError if the model has no tokenizer.
TypedTokens encode_pair(const Model& model, std::string_view query, std::string_view document,
                        std::int64_t max_tokens = 0);

struct RankedDocument {
  std::size_t index = 0;  // the document's
  float score = 0;        // the output of the classifier that ranks: Embedder::ranking_output()
  std::int64_t n_tokens = 0;
};

// The documents, best first; equal ones in their order. `top_n`: only the best ones; 0: all.
// Documents that are too long are refused, or cut if the embedder truncates texts. Throws
// ValueError if the embedder does not rank, for an empty query and for "document 2 of 3 ...", and
// like encode_pair() and Embedder::embed().
std::vector<RankedDocument> rerank(Embedder& embedder, std::string_view query,
                                   std::span<const std::string> documents, std::size_t top_n = 0,
                                   const std::atomic<bool>* cancel = nullptr);
// The same for pairs that encode_pair() made.
std::vector<RankedDocument> rerank(Embedder& embedder, std::span<const TypedTokens> pairs,
                                   std::size_t top_n = 0,
                                   const std::atomic<bool>* cancel = nullptr);

}  // namespace weft
