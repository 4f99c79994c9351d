#include <string>
#include <vector>

#include "weft/run/memory_plan.h"
#include "weft/serve/embeddings.h"
#include "weft/serve/rerank.h"

#include "border/arguments.h"
#include "border/call.h"
#include "border/objects.h"
#include "border/options.h"

namespace weft::c_api {
namespace {

struct EmbedderObject : Object {
  static constexpr Kind kKind = Kind::embedder;
  EmbedderObject(std::shared_ptr<ModelObject> of, const EmbedderOptions& options)
      : Object(kKind),
        model(std::move(of)),
        embedder(model->computing(), options),
        pooling(to_string(embedder.pooling())) {}
  bool is_parents() const override { return gate.is_parents(); }
  EmbedderObject& inner() { return *this; }

  const std::shared_ptr<ModelObject> model;
  Gate gate{"embedder"};
  Embedder embedder;
  const std::string pooling;
  std::vector<Embedding> last;  // results of the last call
};

using UsedEmbedder = Used<EmbedderObject>;

weft_embedder_options default_embedder_options() {
  const EmbedderOptions d;
  return {.struct_size = sizeof(weft_embedder_options),
          .norm = d.norm,
          .max_tokens = d.max_tokens,
          .truncate = d.truncate,
          .texts_per_step = d.texts_per_step};
}

EmbedderOptions embedder_options(const weft_embedder_options* given) {
  const auto o = read_options(given, default_embedder_options(), "weft_embedder_options");
  check_least(o.max_tokens, 0, "max_tokens");
  check_least(o.texts_per_step, 1, "texts_per_step");
  EmbedderOptions options{.norm = o.norm,
                          .truncate = is_set(o.truncate, "truncate"),
                          .max_tokens = o.max_tokens,
                          .texts_per_step = o.texts_per_step,
                          .session = session_options(o.session)};
  if (o.pooling) {
    options.pooling = find_poolings(o.pooling);
    if (!options.pooling)
      fail<ValueError>("unknown pooling '{}' (known: {})", o.pooling, pooling_help());
  }
  return options;
}

// weft_embedder_options.beside; null: none.
weft_session* beside(const weft_embedder_options* given) {
  return read_options(given, default_embedder_options(), "weft_embedder_options").beside;
}

// The session may be computing: what is asked of it does not change.
void share_budget(weft_session* other, weft_model* model, SessionOptions& options) {
  const auto object = pin<SessionObject>(other);
  const Session& session = object->session;
  if (&session.model() != pin<ModelObject>(model)->computing().get())
    fail<ValueError>("`beside` is a session of another model");
  options.reserved = 0;  // is part of what that session uses
  const MemoryUse& use = session.memory();
  const std::int64_t budget = session.options().mem_budget;
  // Otherwise the system evicts weights anyway.
  if (use.total() <= budget) options.mem_budget = budget_beside(budget, {{use}});
}

weft_embedding embedding_of(const Embedding& e) {
  return {.values = e.values.data(), .n_values = e.values.size(), .n_tokens = e.n_tokens};
}

}  // namespace
}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_embedder_options_init(weft_embedder_options* options, size_t size) {
  return call(nullptr, [&] {
    init_options(options, size, default_embedder_options(), "weft_embedder_options");
  });
}

weft_status weft_embedder_open(weft_model* model, const weft_embedder_options* options,
                               weft_embedder** embedder, weft_error** error) {
  return call(error, [&] {
    required(embedder, "embedder");
    CancellableCall running;
    EmbedderOptions how = embedder_options(options);
    if (weft_session* const other = beside(options)) share_budget(other, model, how.session);
    how.session.progress = running.watch(how.session.progress);
    *embedder =
        handle_of<weft_embedder>(std::make_shared<EmbedderObject>(pin<ModelObject>(model), how));
  });
}

weft_status weft_embedder_set_output(weft_embedder* embedder, int32_t norm, uint32_t truncate,
                                     weft_error** error) {
  return call(error, [&] {
    UsedEmbedder(embedder)->embedder.set_output(norm, is_set(truncate, "truncate"));
  });
}

weft_status weft_embedder_cancel(weft_embedder* embedder) {
  return call(nullptr, [&] { pin<EmbedderObject>(embedder)->gate.cancel(); });
}

weft_status weft_embedder_free(weft_embedder* embedder) {
  return free_handle<EmbedderObject>(embedder);
}

weft_status weft_embedder_embed(weft_embedder* embedder, const weft_string* texts, size_t n,
                                weft_embedding* embeddings, weft_error** error) {
  return call(error, [&] {
    const UsedEmbedder e(embedder);
    const auto out = array(embeddings, n, "embeddings");
    const std::vector<std::string> all = strings_of(texts, n, "texts");
    e->last = e->embedder.embed(all, &e.cancelled());
    mark_warm();
    for (std::size_t i = 0; i < n; ++i) out[i] = embedding_of(e->last[i]);
  });
}

weft_status weft_embedder_embed_tokens(weft_embedder* embedder, const weft_token* tokens, size_t n,
                                       weft_embedding* embedding, weft_error** error) {
  return call(error, [&] {
    const UsedEmbedder e(embedder);
    required(embedding, "embedding");
    const auto ids = array(tokens, n, "tokens");
    const TypedTokens all[] = {std::vector<TokenId>(ids.begin(), ids.end())};
    e->last = e->embedder.embed(all, &e.cancelled());
    mark_warm();
    *embedding = embedding_of(e->last[0]);
  });
}

weft_status weft_embedder_get_info(weft_embedder* embedder, weft_embedder_info* info,
                                   weft_error** error) {
  return call(error, [&] {
    const UsedEmbedder e(embedder);
    write_struct(info,
                 weft_embedder_info{.truncate = e->embedder.truncates(),
                                    .pooling = e->pooling.c_str(),
                                    .width = e->embedder.width(),
                                    .max_tokens = e->embedder.max_tokens()},
                 "weft_embedder_info");
  });
}

weft_status weft_embedder_rerank(weft_embedder* embedder, const char* query, size_t query_size,
                                 const weft_string* documents, size_t n, weft_rerank_score* scores,
                                 weft_error** error) {
  return call(error, [&] {
    const UsedEmbedder e(embedder);
    const auto out = array(scores, n, "scores");
    const std::vector<std::string> all = strings_of(documents, n, "documents");
    const auto ranked =
        rerank(e->embedder, text(query, query_size, "query"), all, 0, &e.cancelled());
    for (std::size_t i = 0; i < n; ++i)
      out[i] = {.index = ranked[i].index, .score = ranked[i].score, .n_tokens = ranked[i].n_tokens};
  });
}
