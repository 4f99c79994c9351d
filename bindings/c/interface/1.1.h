/* Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it. */
/* Weft's C API: models, sessions, text, chats, graphs and architectures for programs in any
 * language. docs/c_api.md has examples; docs/stability.md says what stays as it is.
 *
 * ERRORS. Functions return a weft_status; 0 is success. On failure, `*error` is set to an error
 * with the message, which the caller frees; `error` may be NULL. Results are written only on
 * success. Nothing is printed, and no input ends the process.
 *
 * HANDLES. A pointer to one of the opaque types below is a handle. It is looked up and never
 * dereferenced: NULL, a freed handle and a handle of another type give WEFT_ERROR_HANDLE. Objects
 * keep alive what they were made from: a model may be freed while its sessions live. Nothing is
 * freed too early: what other threads still use lives until they are done with it.
 *
 * STRUCTS. Options begin with their size. weft_X_options_init() or WEFT_X_OPTIONS_INIT sets it and
 * all defaults: use one of them always. NULL stands for the defaults. The caller sets the size of
 * structs that the library fills. New members are appended, so old programs work with new
 * libraries. A program with newer options is served if the new members are zero, else refused with
 * WEFT_ERROR_UNSUPPORTED; the new members of structs that the library fills are then zero. Members
 * with the name `reserved` must be 0.
 *
 * TEXT is UTF-8 with a size in bytes, and need not end with a NUL; names and paths (const char*)
 * do. The caller owns memory that is returned in a weft_text (weft_text_free). All other pointers
 * that functions return belong to the handle, and are valid until it is freed or as stated there.
 *
 * THREADS.
 *   any number at the same time  functions of weft_model, weft_grammar, weft_chat, weft_saved,
 *                                weft_chat_plan; those without a handle; all weft_X_free
 *                                and weft_X_cancel
 *   one call at a time           weft_session with its generations, batches, diffusions,
 *                                conversations and speculations;
 *                                each weft_embedder, weft_sampler, weft_constraint,
 *                                weft_detokenizer, weft_reply, weft_graph, weft_computation
 * A second call meanwhile gives WEFT_ERROR_BUSY and changes nothing; weft_session_get_info() and
 * weft_session_share() are always allowed. Sessions of one model, and all other objects, work side
 * by side. Threads need no registration.
 *
 * CALLBACKS run on the thread of the call, unless stated otherwise. A callback must not use the
 * objects of its call (WEFT_ERROR_BUSY), except to cancel it. A C++ exception that leaves a
 * callback ends the call with WEFT_ERROR_CALLBACK. A status that a callback returns becomes that of
 * the call, except for weft_op.compute (WEFT_ERROR_CALLBACK, with its message). A callback must not
 * end its thread. After a longjmp out of a callback, the objects of that call are lost: they answer
 * WEFT_ERROR_BUSY forever; all others work.
 *
 * CANCELLING. weft_X_cancel(), a canceller, and callbacks for progress and polls end a running
 * call, if there is one, as soon as a node is done: it returns WEFT_ERROR_CANCELLED. Texts end
 * instead: weft_generation_next() and weft_conversation_say() succeed with WEFT_STOP_CANCELLED.
 * Sessions stay usable.
 *
 * PROCESSES. In the child of a fork, models and all objects that do not compute work; objects with
 * workers give WEFT_ERROR_FORKED, those that another thread was using WEFT_ERROR_BUSY. New ones
 * compute on one thread if the parent had any sessions before the fork. exit() cancels running
 * calls and waits for them, at most for half a second, but not for those that are inside a
 * callback. Later calls, and those whose callback returns later, give WEFT_ERROR_CLOSED. The
 * library stays in the process: dlclose() has no effect.
 */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. Additions increment the minor one, all else the major one. */
#define WEFT_API_VERSION_MAJOR 1
#define WEFT_API_VERSION_MINOR 1

#if defined(WEFT_STATIC) || defined(_WIN32)
#define WEFT_API
#else
#define WEFT_API __attribute__((visibility("default")))
#endif

/* ---- Errors and memory --------------------------------------------------------------- */
typedef int32_t weft_status;
enum weft_status_code {
  WEFT_SUCCESS = 0,
  WEFT_ERROR_ARGUMENT = 1,    /* an argument or option is out of range */
  WEFT_ERROR_FORMAT = 2,      /* a file, text or message is malformed */
  WEFT_ERROR_SHAPE = 3,       /* dimensions do not fit */
  WEFT_ERROR_DTYPE = 4,       /* an element type does not fit, or is unknown */
  WEFT_ERROR_UNSUPPORTED = 5, /* well-formed, but not implemented */
  WEFT_ERROR_IO = 6,          /* the system refused: weft_error_os_error() */
  WEFT_ERROR_BUDGET = 7,      /* it needs more memory than it may use */
  WEFT_ERROR_MEMORY = 8,      /* the system has no memory */
  WEFT_ERROR_CANCELLED = 9,   /* by a callback or one of weft_X_cancel() */
  WEFT_ERROR_NAN = 10,        /* logits are not numbers: the file or a kernel is wrong */
  WEFT_ERROR_HANDLE = 11,     /* not a handle of this type, or it was freed */
  WEFT_ERROR_BUSY = 12,       /* another call uses the object */
  WEFT_ERROR_FORKED = 13,     /* the object belongs to the parent process */
  WEFT_ERROR_CLOSED = 14,     /* the process is ending */
  WEFT_ERROR_CALLBACK = 15,   /* a callback, a custom op or a plug-in failed */
  WEFT_ERROR_CAPACITY = 16,   /* the array is too small; the required size was written to *n */
  WEFT_ERROR_INTERNAL = 17    /* a defect of the library: please report it */
};

typedef struct weft_error weft_error;
typedef int32_t weft_token; /* an id of the vocabulary; -1: none */

/* "argument", "format", ...; "unknown" for other numbers. A constant. */
WEFT_API const char* weft_status_name(weft_status status);
/* The message, until the error is freed; "" for NULL and stale handles. */
WEFT_API const char* weft_error_message(const weft_error* error);
WEFT_API weft_status weft_error_status(const weft_error* error); /* WEFT_SUCCESS for those */
WEFT_API int32_t weft_error_os_error(const weft_error* error);   /* errno; 0: none */
WEFT_API void weft_error_free(weft_error* error);                /* NULL is allowed */
/* For callbacks: makes an error and returns `status`. */
WEFT_API weft_status weft_error_make(weft_status status, const char* message, weft_error** error);

/* `size` bytes, followed by a NUL. */
typedef struct weft_text {
  char* data;
  size_t size;
} weft_text;
WEFT_API void weft_text_free(weft_text* text); /* sets `data` to NULL */

/* Text that the caller owns. */
typedef struct weft_string {
  const char* data;
  size_t size;
} weft_string;

/* A value with a name: a key of a file, an attribute of an op. */
enum weft_value_kind {
  WEFT_VALUE_INTEGER = 1,
  WEFT_VALUE_NUMBER = 2,
  WEFT_VALUE_TEXT = 3,
  WEFT_VALUE_BOOL = 4
};
typedef struct weft_value {
  const char* name;
  int32_t kind;
  int32_t reserved; /* 0 */
  int64_t integer;  /* also of bools */
  double number;
  const char* text;
} weft_value;

/* `share` goes from 0 to 1. Anything but 0 as a result ends the call (WEFT_ERROR_CANCELLED). */
typedef int32_t (*weft_progress)(void* user, double share);
/* One line without its newline, about something that does not stop the work. */
typedef void (*weft_log)(void* user, const char* line);
/* Called about every 50 ms while steps are computed, on the thread of the call: for programs that
 * must react to signals. Anything but 0 cancels the call. */
typedef int32_t (*weft_poll)(void* user);

/* Cancels calls that use no object with a cancel function: every call that it is passed to, running
 * or later. */
typedef struct weft_canceller weft_canceller;
WEFT_API weft_status weft_canceller_open(weft_canceller** canceller, weft_error** error);
WEFT_API weft_status weft_canceller_cancel(weft_canceller* canceller);
WEFT_API weft_status weft_canceller_free(weft_canceller* canceller);

/* ---- The library --------------------------------------------------------------------- */
WEFT_API const char* weft_version(void);  /* "0.1.0" */
WEFT_API uint32_t weft_api_version(void); /* 1000 * major + minor of the library's API */
/* Processor, instruction sets, default workers and budget, backends, formats: an object. Loads the
 * libraries of WEFT_BACKEND_PATH, and opens no device. */
WEFT_API weft_status weft_about_json(weft_text* json, weft_error** error);
/* From now on, mapped files that are truncated or cannot be read give WEFT_ERROR_IO. Without it,
 * the system ends the process with SIGBUS. Installs a handler of this signal, for mapped models
 * only. */
WEFT_API weft_status weft_guard_mappings(weft_error** error);
/* Loads a backend from a shared library (weft/backends/abi.h), or from all "*.so" of a folder,
 * where those that cannot be used are skipped: weft_about_json() says why. */
WEFT_API weft_status weft_load_backend(const char* path, weft_error** error);

/* ---- Models -------------------------------------------------------------------------- */
typedef struct weft_model weft_model;
typedef struct weft_adapter {
  const char* path; /* a GGUF file */
  float scale;
  int32_t reserved; /* 0 */
} weft_adapter;

typedef struct weft_model_options {
  uint32_t struct_size;
  uint32_t vocabulary_only; /* 1: only the tokenizer; computing gives WEFT_ERROR_UNSUPPORTED */
  weft_progress progress;   /* may be NULL */
  void* progress_user;
  const char* quantize;  /* a type such as "Q4_K_M" to use weights in; NULL: as they are */
  const char* overrides; /* "KEY=TYPE:VALUE,..." as of --override-kv; NULL: none */
  uint32_t allow_unknown_settings; /* 1: ignore settings of config.json that are not known */
  uint32_t n_loras, n_control_vectors;
  int32_t control_first_layer, control_last_layer; /* both 0: all */
  uint32_t n_override_values;
  const weft_adapter* loras; /* numbered from 0; scales are the defaults */
  const weft_adapter* control_vectors;
  const weft_value* override_values; /* of keys of the file, after `overrides` */
  /* A GGUF file with a layer that drafts for the model, "draft-mtp", or with an EAGLE-3 head,
   * "draft-eagle3" (docs/speculation.md); NULL: none, or the model's own layer. */
  const char* draft_file;
} weft_model_options;
WEFT_API weft_status weft_model_options_init(weft_model_options* options, size_t size);

/* A GGUF file (the first part of a split one), or a folder of safetensors. */
WEFT_API weft_status weft_model_open(const char* path, const weft_model_options* options,
                                     weft_model** model, weft_error** error);
/* A GGUF file in memory. The bytes are not copied, and must not change until release(user) is
 * called: once, on any thread, when the model and everything made from it are freed, or when
 * opening has failed. Without `release` they are copied. `name` stands for the path in messages. */
WEFT_API weft_status weft_model_open_memory(const void* data, size_t size, const char* name,
                                            void (*release)(void* user), void* user,
                                            const weft_model_options* options, weft_model** model,
                                            weft_error** error);
/* An open GGUF file, which the caller may close at once. */
WEFT_API weft_status weft_model_open_descriptor(int32_t descriptor, const char* name,
                                                const weft_model_options* options,
                                                weft_model** model, weft_error** error);
WEFT_API weft_status weft_model_free(weft_model* model);

enum weft_model_flag /* weft_model_info.flags */ {
  WEFT_MODEL_CAUSAL = 1u << 0,        /* tokens see only those before them */
  WEFT_MODEL_HAS_OUTPUT = 1u << 1,    /* gives logits; otherwise only embeddings */
  WEFT_MODEL_ENCODES = 1u << 2,       /* an encoder reads the prompt */
  WEFT_MODEL_DIFFUSES = 1u << 3,      /* a diffusion language model */
  WEFT_MODEL_HAS_TOKENIZER = 1u << 4, /* encodes and decodes text */
  WEFT_MODEL_VOCABULARY_ONLY = 1u << 5,
  WEFT_MODEL_RECURRENT = 1u << 6, /* has recurrent states, perhaps beside attention */
  WEFT_MODEL_DRAFTS = 1u << 7     /* has a layer for drafts: weft_session_options.draft_layer */
};
typedef struct weft_model_info {
  uint32_t struct_size;
  uint32_t flags;
  const char* architecture; /* "llama"; strings belong to the model */
  const char* name;         /* general.name, or "" */
  const char* path;
  int64_t n_layers, n_embd, n_vocab; /* but for n_vocab 0 if only the vocabulary was loaded */
  int64_t context;                   /* positions it was trained for */
  int64_t n_params;                  /* elements of all weights */
  int64_t weight_bytes;              /* in the types in which they are used */
  int64_t token_types;               /* kinds of tokens, as segments of BERT; 1: no difference */
  weft_token start; /* with an encoder: the first token of what is generated; else -1 */
  uint32_t n_loras;
} weft_model_info;
WEFT_API weft_status weft_model_get_info(weft_model* model, weft_model_info* info,
                                         weft_error** error);
/* All keys of the file: {"general.name": "x", ...}. Arrays of over `max_elements` become their
 * length, {"length": 32000}, and texts that are not UTF-8 {"hex": "00ff"}. */
WEFT_API weft_status weft_model_metadata_json(weft_model* model, size_t max_elements,
                                              weft_text* json, weft_error** error);
WEFT_API weft_status weft_model_warnings_json(weft_model* model, weft_text* json,
                                              weft_error** error); /* an array of texts */
/* The template of the file in Jinja; NULL if it has none. */
WEFT_API weft_status weft_model_get_chat_template(weft_model* model, const char** text,
                                                  weft_error** error);
/* WEFT_ERROR_IO if files of the weights have changed since they were opened. */
WEFT_API weft_status weft_model_check_files(weft_model* model, weft_error** error);

/* ---- Tokens -------------------------------------------------------------------------- */
/* Flags of weft_tokenize(). No bit is also one of weft_detokenize_flag. */
enum weft_tokenize_flag {
  WEFT_TOKENIZE_ADD_SPECIAL = 1u << 0,  /* BOS, EOS and the like, as the file says */
  WEFT_TOKENIZE_PARSE_SPECIAL = 1u << 1 /* control tokens may be spelled out in the text */
};
/* Writes at most `capacity` ids and their number to *n; WEFT_ERROR_CAPACITY if there are more, with
 * *n their number. Any bytes are accepted. */
WEFT_API weft_status weft_tokenize(weft_model* model, const char* text, size_t size, uint32_t flags,
                                   weft_token* tokens, size_t capacity, size_t* n,
                                   weft_error** error);
/* Flags of weft_detokenize() and weft_detokenizer_open() */
enum weft_detokenize_flag {
  WEFT_DETOKENIZE_SHOW_SPECIAL = 1u << 8,       /* control tokens appear as their text */
  WEFT_DETOKENIZE_STRIP_SPACE_PREFIX = 1u << 9, /* without the space that encoding added in front */
  WEFT_DETOKENIZE_REPLACE_INVALID = 1u << 10    /* U+FFFD for bytes that are not UTF-8 */
};
WEFT_API weft_status weft_detokenize(weft_model* model, const weft_token* tokens, size_t n,
                                     uint32_t flags, weft_text* text, weft_error** error);
/* The bytes of one token, which may be part of a character. */
WEFT_API weft_status weft_token_get_bytes(weft_model* model, weft_token token, const char** data,
                                          size_t* size, weft_error** error);
/* The token as the file writes it ("▁the"). */
WEFT_API weft_status weft_token_get_text(weft_model* model, weft_token token, const char** data,
                                         size_t* size, weft_error** error);
/* The token of a text as the file writes it; -1 if there is none. */
WEFT_API weft_status weft_token_find(weft_model* model, const char* text, size_t size,
                                     weft_token* token, weft_error** error);

enum weft_token_flag /* weft_token_info.flags */ {
  WEFT_TOKEN_CONTROL = 1u << 0,
  WEFT_TOKEN_ENDS_TEXT = 1u << 1,
  WEFT_TOKEN_HIDDEN = 1u << 2, /* plain output omits it */
  WEFT_TOKEN_BYTE = 1u << 3,
  WEFT_TOKEN_USER_DEFINED = 1u << 4,
  WEFT_TOKEN_UNKNOWN = 1u << 5,
  WEFT_TOKEN_UNUSED = 1u << 6
};
typedef struct weft_token_info {
  uint32_t struct_size;
  uint32_t flags;
  float score;
  int32_t reserved; /* 0 */
} weft_token_info;
WEFT_API weft_status weft_token_get_info(weft_model* model, weft_token token, weft_token_info* info,
                                         weft_error** error);
enum weft_special_token {
  WEFT_SPECIAL_BOS = 0,
  WEFT_SPECIAL_EOS = 1,
  WEFT_SPECIAL_EOT = 2,
  WEFT_SPECIAL_EOM = 3,
  WEFT_SPECIAL_UNK = 4,
  WEFT_SPECIAL_SEP = 5,
  WEFT_SPECIAL_PAD = 6,
  WEFT_SPECIAL_CLS = 7,
  WEFT_SPECIAL_MASK = 8,
  WEFT_SPECIAL_FIM_PREFIX = 9,
  WEFT_SPECIAL_FIM_SUFFIX = 10,
  WEFT_SPECIAL_FIM_MIDDLE = 11,
  WEFT_SPECIAL_FIM_PAD = 12,
  WEFT_SPECIAL_FIM_REPOSITORY = 13,
  WEFT_SPECIAL_FIM_FILE = 14,
  WEFT_SPECIAL_NEWLINE = 15 /* the one token of "\n" */
};
WEFT_API weft_status weft_token_get_special(weft_model* model, int32_t which, weft_token* token,
                                            weft_error** error); /* -1: it has none */

/* Text token by token, in whole characters. */
typedef struct weft_detokenizer weft_detokenizer;
WEFT_API weft_status weft_detokenizer_open(weft_model* model, uint32_t flags,
                                           weft_detokenizer** detokenizer, weft_error** error);
/* The text that the token completes, until the next call. */
WEFT_API weft_status weft_detokenizer_push(weft_detokenizer* detokenizer, weft_token token,
                                           const char** text, size_t* size, weft_error** error);
/* Ends the text and returns what was held back; another text may follow. */
WEFT_API weft_status weft_detokenizer_finish(weft_detokenizer* detokenizer, const char** text,
                                             size_t* size, weft_error** error);
WEFT_API weft_status weft_detokenizer_free(weft_detokenizer* detokenizer);

/* ---- Constraints --------------------------------------------------------------------- */
typedef struct weft_grammar weft_grammar;
enum weft_grammar_kind /* what the text of a grammar is */ {
  WEFT_GRAMMAR_GBNF = 0,
  WEFT_GRAMMAR_JSON_SCHEMA = 1,
  WEFT_GRAMMAR_JSON_OBJECT = 2, /* any JSON object; the text is not used */
  WEFT_GRAMMAR_REGEX = 3,       /* of the whole text */
  WEFT_GRAMMAR_CHOICE = 4       /* a JSON array of texts, of which one */
};
/* `model` may be NULL unless the grammar names tokens, which are then those of this model. Objects
 * of a schema have only the members that it describes, and no line breaks between values. */
WEFT_API weft_status weft_grammar_open(int32_t kind, const char* text, size_t size,
                                       weft_model* model, weft_grammar** grammar,
                                       weft_error** error);
/* *accepts becomes 1 if the text is a complete text of the grammar; named tokens are not part of
 * texts. */
WEFT_API weft_status weft_grammar_accepts(weft_grammar* grammar, const char* text, size_t size,
                                          int32_t* accepts, weft_error** error);
WEFT_API weft_status weft_grammar_free(weft_grammar* grammar);

/* A grammar applied to the tokens of a model with a tokenizer, for one text. */
typedef struct weft_constraint weft_constraint;
WEFT_API weft_status weft_constraint_open(weft_grammar* grammar, weft_model* model,
                                          weft_constraint** constraint, weft_error** error);
/* One bit per token, lowest first, set if it may come next. Valid until the next call. */
WEFT_API weft_status weft_constraint_get_mask(weft_constraint* constraint, const uint64_t** words,
                                              size_t* n_words, weft_error** error);
/* Sets the logits of all other tokens to -inf. `n` is the size of the vocabulary, or the row_width
 * of a session; else WEFT_ERROR_SHAPE. WEFT_ERROR_ARGUMENT if no token is left. */
WEFT_API weft_status weft_constraint_apply(weft_constraint* constraint, float* logits, size_t n,
                                           weft_error** error);
/* Appends a token to the text, or refuses it (WEFT_ERROR_ARGUMENT): it is not in the mask. */
WEFT_API weft_status weft_constraint_accept(weft_constraint* constraint, weft_token token,
                                            weft_error** error);
WEFT_API weft_status weft_constraint_reset(weft_constraint* constraint, weft_error** error);
/* Whether the text may end here, and more may follow: 0 or 1. */
WEFT_API weft_status weft_constraint_get_state(weft_constraint* constraint, int32_t* may_end,
                                               int32_t* may_continue, weft_error** error);
/* The bytes that must come next, at most `max_bytes`. */
WEFT_API weft_status weft_constraint_get_forced(weft_constraint* constraint, size_t max_bytes,
                                                weft_text* text, weft_error** error);
WEFT_API weft_status weft_constraint_free(weft_constraint* constraint);

/* ---- Samplers ------------------------------------------------------------------------ */
typedef struct weft_sampler weft_sampler;
typedef struct weft_logit_bias {
  weft_token token;
  float bias; /* -INFINITY: never */
} weft_logit_bias;

/* docs/sampling.md describes every parameter and its range under the same name, except `order`
 * (there: samplers) and `dry_breakers` (there: dry_sequence_breakers, as texts). */
typedef struct weft_sampler_options {
  uint32_t struct_size;
  int32_t top_k;
  uint64_t seed;
  float temperature; /* 0: always the most likely token */
  float top_p, min_p, typical_p, top_n_sigma, tfs_z;
  float repeat_penalty, frequency_penalty, presence_penalty;
  int32_t repeat_last_n;
  float dynatemp_range, dynatemp_exponent;
  float xtc_probability, xtc_threshold;
  float dry_multiplier, dry_base;
  int32_t dry_allowed_length, dry_penalty_last_n;
  int32_t mirostat;
  float mirostat_tau, mirostat_eta;
  float adaptive_target, adaptive_decay;
  uint32_t n_logit_bias, n_dry_breakers;
  const weft_logit_bias* logit_bias;
  const weft_token* dry_breakers; /* repetitions do not reach across these */
  const char* order; /* names of stages, separated by ';'; NULL or "": the usual ones */
} weft_sampler_options;
WEFT_API weft_status weft_sampler_options_init(weft_sampler_options* options, size_t size);

WEFT_API weft_status weft_sampler_open(const weft_sampler_options* options, weft_sampler** sampler,
                                       weft_error** error);
/* Chooses from n logits, one per token; changes nothing but the random numbers and the candidates.
 * NaN and +inf are refused, and logits that are all -inf (WEFT_ERROR_ARGUMENT). */
WEFT_API weft_status weft_sampler_sample(weft_sampler* sampler, const float* logits, size_t n,
                                         weft_token* token, weft_error** error);
/* Appends a token to the text that penalties see. */
WEFT_API weft_status weft_sampler_accept(weft_sampler* sampler, weft_token token,
                                         weft_error** error);
/* A new text, with random numbers from the seed on. */
WEFT_API weft_status weft_sampler_reset(weft_sampler* sampler, weft_error** error);
/* Another seed, from now on; the text stays. */
WEFT_API weft_status weft_sampler_reseed(weft_sampler* sampler, uint64_t seed, weft_error** error);
/* The copy has seen the same text and draws the same tokens. */
WEFT_API weft_status weft_sampler_copy(weft_sampler* sampler, weft_sampler** copy,
                                       weft_error** error);
typedef struct weft_candidate {
  weft_token token;
  float logit;
  float probability;
} weft_candidate;
/* What the stages kept at the last sample, until the next call; none before the first sample and
 * after one that failed. */
WEFT_API weft_status weft_sampler_get_candidates(weft_sampler* sampler,
                                                 const weft_candidate** candidates, size_t* n,
                                                 weft_error** error);
WEFT_API weft_status weft_sampler_free(weft_sampler* sampler);

typedef struct weft_logprob {
  weft_token token;
  float logprob; /* natural logarithm */
} weft_logprob;
/* The n_top most likely tokens of n logits, best first, ties by token, before any sampler. n_top is
 * at most n. Logits are refused as by weft_sampler_sample(). */
WEFT_API weft_status weft_top_logprobs(const float* logits, size_t n, weft_logprob* top,
                                       size_t n_top, weft_error** error);
/* The logarithm of the probability of one token. */
WEFT_API weft_status weft_logprob_of(const float* logits, size_t n, weft_token token,
                                     float* logprob, weft_error** error);

/* ---- Sessions ------------------------------------------------------------------------ */
typedef struct weft_session weft_session;
enum weft_weights_mode {
  WEFT_WEIGHTS_AUTO = 0,
  WEFT_WEIGHTS_MAPPED = 1,
  WEFT_WEIGHTS_RESIDENT = 2,
  WEFT_WEIGHTS_STREAMED = 3 /* what does not fit the budget is read from disk by each step */
};

typedef struct weft_session_options {
  uint32_t struct_size;
  int32_t sequences;         /* each has its own memory */
  int64_t context;           /* positions per sequence; 0: the model's, at most 4096 */
  int64_t cells;             /* of all sequences together; 0: enough for all */
  int64_t prefill_width;     /* most tokens in one step */
  int64_t logits_rows;       /* most rows of logits in one step; 0: max(sequences, 16) */
  int32_t workers;           /* 0: min(2, processors) */
  int32_t weights;           /* WEFT_WEIGHTS_... */
  const char* backend;       /* "cpu", "reference", "cpu:avx2", ...; NULL: "cpu" */
  const char* route;         /* "blk.3.ffn_*=reference,*=cpu"; NULL: all on the backend */
  const char* cache_k;       /* type of the key cache, "F16", "Q8_0", ...; NULL: chosen */
  const char* cache_v;       /* likewise of values */
  const char* weight_cache;  /* folder for packed weights; NULL: none */
  const char* passes_off;    /* "fuse_qkv,..." or "all"; NULL: none */
  const char* executor;      /* "crew", "flow"; NULL: chosen for each plan */
  int64_t mem_budget;        /* bytes for the session; 0: what the system has */
  int64_t caller_bytes;      /* bytes of the caller that the budget also covers */
  uint32_t embeddings;       /* 1: rows are hidden states [D] instead of logits [V] */
  uint32_t separate_tensors; /* 1: every activation has its own memory (for debugging) */
  weft_progress progress;    /* while weights are loaded; may be NULL */
  void* progress_user;
  weft_log log; /* may be NULL */
  void* log_user;
  weft_poll poll; /* may be NULL */
  void* poll_user;
  /* How many guesses of a draft a step can check in a model with recurrent states, each for memory
   * of one more state per sequence: 0 to 64. Other models check up to 64 in any case. */
  int64_t rewind;
  uint32_t draft_layer; /* 1: prepare the model's layer for drafts, "draft-mtp" */
  uint32_t reserved;
  /* With streamed weights: a file that keeps how often each expert was chosen. The session begins
   * by reading the most frequent ones, and updates the file when the last handle that keeps it is
   * freed. If either fails, `log` gets a line, and only time is lost. "auto": the path of the
   * model with ".experts", without such lines. NULL: none. */
  const char* expert_usage;
} weft_session_options;
WEFT_API weft_status weft_session_options_init(weft_session_options* options, size_t size);

WEFT_API weft_status weft_session_open(weft_model* model, const weft_session_options* options,
                                       weft_session** session, weft_error** error);
/* Another handle of the same session, which keeps its memory: rows of logits stay readable after
 * the first one was freed. */
WEFT_API weft_status weft_session_share(weft_session* session, weft_session** other,
                                        weft_error** error);
WEFT_API weft_status weft_session_cancel(weft_session* session);
WEFT_API weft_status weft_session_free(weft_session* session);

typedef struct weft_session_info {
  uint32_t struct_size;
  int32_t sequences;
  int64_t context, prefill_width, logits_rows;
  int64_t row_width;       /* of logits, or of embeddings */
  int64_t allocated_bytes; /* host memory; equal to what was predicted */
  int32_t workers;
  uint32_t embeddings;
} weft_session_info;
WEFT_API weft_status weft_session_get_info(weft_session* session, weft_session_info* info,
                                           weft_error** error);
/* Options as resolved, memory by purpose, concessions: an object. With streamed weights it has
 * "stream": {"reader", "bytes_read", "wait_ns", "experts_in_memory", "experts_missing"}, counted
 * since the session was opened: the waits of all workers together, and the experts that steps
 * needed. */
WEFT_API weft_status weft_session_json(weft_session* session, weft_text* json, weft_error** error);
/* The plan that runs steps of that many tokens, with its hash. */
WEFT_API weft_status weft_session_plan_json(weft_session* session, int64_t n_tokens,
                                            weft_text* json, weft_error** error);
WEFT_API weft_status weft_session_get_plan_hash(weft_session* session, int64_t n_tokens,
                                                uint64_t* hash, weft_error** error);
/* The graph of that plan, after all passes, for Graphviz: the picture of `weft dot`. */
WEFT_API weft_status weft_session_dot(weft_session* session, int64_t n_tokens, weft_text* dot,
                                      weft_error** error);
/* For a session that is not opened. Without a budget, plans that do not fit are drawn, too. */
WEFT_API weft_status weft_model_dot(weft_model* model, const weft_session_options* options,
                                    int64_t n_tokens, weft_text* dot, weft_error** error);
/* A picture of that plan: the arena, and the work of the lanes. */
WEFT_API weft_status weft_session_plan_svg(weft_session* session, int64_t n_tokens, weft_text* svg,
                                           weft_error** error);

/* Appends tokens as weft_session_feed() does, in one step of at most prefill_width, and measures
 * it:
 * {"plan", "n_tokens", "depth", "workers", "ns", "nodes": [{"path", "op", "kernel", "backend",
 * "stage", "ns", "bytes", "multiply_adds"}]}. The nodes come in the order of the plan, with the
 * time of all workers together; "depth" is the number of tokens before. `svg` (may be NULL): the
 * picture of the plan, with the work of the lanes as measured. */
WEFT_API weft_status weft_session_profile(weft_session* session, int32_t sequence,
                                          const weft_token* tokens, size_t n, weft_text* json,
                                          weft_text* svg, weft_error** error);

/* `done` of `total` tokens are computed. Anything but 0 cancels the call, unless this was the last
 * chunk. */
typedef int32_t (*weft_token_progress)(void* user, int64_t done, int64_t total);
/* Appends tokens to a sequence and keeps the logits of the last one. Arguments are checked before
 * anything is computed; a cancelled call keeps complete chunks of prefill_width. */
WEFT_API weft_status weft_session_feed(weft_session* session, int32_t sequence,
                                       const weft_token* tokens, size_t n,
                                       weft_token_progress progress, void* user,
                                       weft_error** error);
typedef struct weft_step_token {
  weft_token token;
  int32_t sequence;
  int32_t logits; /* 1: request a row */
  int32_t type;   /* below token_types */
} weft_step_token;
/* One step of tokens of any sequences. Gives rows [n_rows, row_width] of those that request them,
 * in order, in the session's memory: callers may write to them, and the next call overwrites them.
 * Both results may be NULL. */
WEFT_API weft_status weft_session_step(weft_session* session, const weft_step_token* tokens,
                                       size_t n, float** rows, size_t* n_rows, weft_error** error);
/* The last row of the last step, likewise. `n` may be NULL. */
WEFT_API weft_status weft_session_get_logits(weft_session* session, float** logits, size_t* n,
                                             weft_error** error);
/* For models with an encoder: it reads a text, which the sequence then attends to. */
WEFT_API weft_status weft_session_encode(weft_session* session, int32_t sequence,
                                         const weft_token* tokens, size_t n, weft_error** error);

/* Tokens in the memory of a sequence, with the guesses of a running text. */
WEFT_API weft_status weft_session_get_length(weft_session* session, int32_t sequence,
                                             int64_t* length, weft_error** error);
/* Their ids, valid until the sequence changes. */
WEFT_API weft_status weft_session_get_tokens(weft_session* session, int32_t sequence,
                                             const weft_token** tokens, size_t* n,
                                             weft_error** error);
/* How many of them, from the first one on, are the same as in `tokens`. */
WEFT_API weft_status weft_session_get_common_prefix(weft_session* session, int32_t sequence,
                                                    const weft_token* tokens, size_t n,
                                                    size_t* n_common, weft_error** error);
/* Removes all tokens from position `length` on. */
WEFT_API weft_status weft_session_truncate(weft_session* session, int32_t sequence, int64_t length,
                                           weft_error** error);
/* The largest length up to `length` that truncate() accepts: that one, except for models with
 * windows or recurrent states. */
WEFT_API weft_status weft_session_get_resume_point(weft_session* session, int32_t sequence,
                                                   int64_t length, int64_t* resume_point,
                                                   weft_error** error);
/* The sequence from which a text with these tokens can continue with the fewest left to compute,
 * and the length at which it does: weft_session_copy() that much, and feed the rest. -1 and 0 if
 * all sequences begin otherwise. At least the last token is left, for its logits. */
WEFT_API weft_status weft_session_match(weft_session* session, const weft_token* tokens, size_t n,
                                        int32_t* sequence, int64_t* length, weft_error** error);
/* Replaces sequence `to` by the first `length` tokens of `from` (-1: all, without the guesses of a
 * running text), sharing their memory. */
WEFT_API weft_status weft_session_copy(weft_session* session, int32_t from, int32_t to,
                                       int64_t length, weft_error** error);
/* One scale per LoRA of the model, for tokens from now on. */
WEFT_API weft_status weft_session_set_lora_scales(weft_session* session, int32_t sequence,
                                                  const float* scales, size_t n,
                                                  weft_error** error);
WEFT_API weft_status weft_session_get_lora_scales(weft_session* session, int32_t sequence,
                                                  const float** scales, size_t* n,
                                                  weft_error** error);

/* A sequence as bytes, with its tokens and a note of the caller. `tokens`, unless they are NULL,
 * must be those that the sequence has. Guesses of a running text are not saved. */
WEFT_API weft_status weft_session_save(weft_session* session, int32_t sequence,
                                       const weft_token* tokens, size_t n, const char* note,
                                       size_t note_size, weft_text* bytes, weft_error** error);
/* The same in a file, which appears when it is complete. */
WEFT_API weft_status weft_session_save_file(weft_session* session, int32_t sequence,
                                            const weft_token* tokens, size_t n, const char* note,
                                            size_t note_size, const char* path, weft_error** error);
typedef struct weft_saved weft_saved;
/* From bytes, which are checked and copied; or from a file. */
WEFT_API weft_status weft_saved_open_memory(const void* data, size_t size, weft_saved** saved,
                                            weft_error** error);
WEFT_API weft_status weft_saved_open(const char* path, weft_saved** saved, weft_error** error);
WEFT_API weft_status weft_saved_get_tokens(weft_saved* saved, const weft_token** tokens, size_t* n,
                                           weft_error** error);
WEFT_API weft_status weft_saved_get_note(weft_saved* saved, const char** note, size_t* size,
                                         weft_error** error);
/* Replaces a sequence by the first n_tokens of the saved one (-1: all). Refused with the reason
 * (WEFT_ERROR_ARGUMENT) if another model or another computation made it. */
WEFT_API weft_status weft_saved_restore(weft_saved* saved, weft_session* session, int32_t sequence,
                                        int64_t n_tokens, weft_error** error);
WEFT_API weft_status weft_saved_get_resume_point(weft_saved* saved, weft_session* session,
                                                 int64_t n_tokens, int64_t* resume_point,
                                                 weft_error** error);
WEFT_API weft_status weft_saved_free(weft_saved* saved);

/* ---- Drafts -------------------------------------------------------------------------- */
/* Guesses of what follows, of which one step checks several (speculative decoding). Every text is
 * the same as without them, and its tokens come faster where guesses are often right. */
typedef struct weft_speculation weft_speculation;
/* With the names of llama.cpp's parameters. */
typedef struct weft_speculation_options {
  uint32_t struct_size;
  int32_t n_max; /* guesses in a step of a text: 1 to 1024 */
  /* Who guesses, in this order until one has guesses: "ngram-simple,draft". NULL: "draft" with a
   * draft model, else "draft-mtp" or "draft-eagle3" with a draft layer, else "ngram-simple".
   *   "draft"         the draft model
   *   "draft-mtp"     the model's own layer (weft_session_options.draft_layer)
   *   "draft-eagle3"  a head (weft_model_options.draft_file, weft_session_options.draft_layer)
   *   "ngram-simple"  what followed the last tokens when this text, or one that ended, had them
   *   "none"          nobody */
  const char* type;
  weft_model* draft_model; /* smaller, of the same vocabulary; NULL: none */
  /* Of the draft model, except for what concerns sequences; NULL: as the session. */
  const weft_session_options* draft_session;
  float p_min;          /* a model stops before a guess that it finds less likely: 0 to 1 */
  int32_t ngram_size_n; /* how many of the last tokens a look-up compares: 1 to 1024 */
  uint32_t adaptive;    /* 1: only as many guesses as measured times justify; 0: always n_max */
  uint32_t reserved;
  weft_log log; /* says why a type is left out, while it is opened; may be NULL */
  void* log_user;
} weft_speculation_options;
WEFT_API weft_status weft_speculation_options_init(weft_speculation_options* options, size_t size);

/* For any number of texts of the session, which share what was measured and the draft model's
 * session. A draft model without room in the budget, or with more weights than the model, is left
 * out. Refused: one of another vocabulary, and "draft-mtp" without a draft layer
 * (WEFT_ERROR_ARGUMENT); models that cannot draft (WEFT_ERROR_UNSUPPORTED). */
WEFT_API weft_status weft_speculation_open(weft_session* session,
                                           const weft_speculation_options* options,
                                           weft_speculation** speculation, weft_error** error);
/* Texts that use it keep it. */
WEFT_API weft_status weft_speculation_free(weft_speculation* speculation);

typedef struct weft_speculation_info {
  uint32_t struct_size;
  int32_t n_max;
  const char* type;  /* who guesses, without what was left out; "" if nobody is left */
  int64_t n_drafted; /* guesses that steps checked, of all texts so far */
  int64_t n_accepted;
  double seconds;         /* steps and guessing; 0 for one type */
  double seconds_without; /* what the same tokens would have taken, an estimate; likewise */
} weft_speculation_info;
/* Of all together, or of one `type` (NULL: all). */
WEFT_API weft_status weft_speculation_get_info(weft_speculation* speculation, const char* type,
                                               weft_speculation_info* info, weft_error** error);

/* ---- Generations --------------------------------------------------------------------- */
typedef struct weft_generation weft_generation;
typedef struct weft_choice {
  uint32_t struct_size;
  uint32_t reserved;
  const float* logits; /* [n_logits]; forbidden tokens are -inf */
  size_t n_logits;
  const weft_token* tokens; /* the prompt and the text so far */
  size_t n_tokens;
} weft_choice;
/* Chooses a token. An error ends the call. What `choice` refers to is valid until it returns. */
typedef weft_status (*weft_choose)(void* user, const weft_choice* choice, weft_token* token,
                                   weft_error** error);

typedef struct weft_generation_options {
  uint32_t struct_size;
  uint32_t ignore_eos;                 /* 1: never choose a token that ends the text */
  const weft_sampler_options* sampler; /* NULL: the defaults */
  weft_grammar* grammar;               /* NULL: any text */
  const weft_string* stops;            /* the text ends before the first of these */
  const weft_string* banned;           /* never completed */
  const weft_token* stop_tokens;
  uint32_t n_stops, n_banned, n_stop_tokens;
  uint32_t token_healing; /* 1: the prompt's last token may be continued */
  int64_t max_tokens;     /* -1: until the text ends or the context is full */
  int64_t min_tokens;     /* end tokens are masked until then */
  int64_t max_time_ms;    /* after the first token, at a line break; 0: no limit */
  int32_t n_logprobs;     /* most likely tokens to report per token; -1: no logprobs */
  uint32_t prompt_logprobs;
  uint32_t decode_flags;   /* weft_detokenize_flag, without REPLACE_INVALID */
  uint32_t keep_last_room; /* 1: leave room for weft_generation_feed_last() */
  weft_choose choose;      /* instead of the sampler; may be NULL */
  void* choose_user;
  weft_speculation* speculation; /* of the same session; NULL: no drafts */
  /* What the text does when the context is full: "stop" or NULL: it ends. Otherwise it goes on
   * without some of its tokens, which is not exact (n_dropped): "shift" drops the older half,
   * "window" the oldest few, "evict" those with the longest keys. When the generation is freed, the
   * sequence keeps the beginning that is exact. WEFT_ERROR_UNSUPPORTED if the model cannot. */
  const char* context_end;
  int64_t keep;        /* first tokens that are never dropped (4 by default); -1: the prompt */
  int64_t discard;     /* tokens that a shift or a window drops at once; 0: as above */
  int64_t cache_evict; /* tokens that evicting leaves; 0: half of the context */
} weft_generation_options;
WEFT_API weft_status weft_generation_options_init(weft_generation_options* options, size_t size);

/* Continues texts in one sequence, which nothing else may change meanwhile. With drafts, the
 * sequence may hold guesses behind the text (n_guessed), which it loses when the text ends, the
 * generation is freed, or all of the sequence is saved or copied. */
WEFT_API weft_status weft_generation_open(weft_session* session, int32_t sequence,
                                          const weft_generation_options* options,
                                          weft_generation** generation, weft_error** error);
WEFT_API weft_status weft_generation_free(weft_generation* generation);

/* Begins a text after a prompt. What the sequence already holds of it is not computed again.
 * With keep_state = 1 the sampler keeps its random numbers and history. */
WEFT_API weft_status weft_generation_begin(weft_generation* generation, const weft_token* prompt,
                                           size_t n, int32_t keep_state, weft_error** error);
/* The same with the prompt as text, in which control tokens are read, and the special tokens around
 * it. */
WEFT_API weft_status weft_generation_begin_text(weft_generation* generation, const char* prompt,
                                                size_t size, weft_error** error);
/* Computes the prompt, which next() would do otherwise. */
WEFT_API weft_status weft_generation_prefill(weft_generation* generation,
                                             weft_token_progress progress, void* user,
                                             weft_error** error);
enum weft_stop /* weft_generation_event.stop */ {
  WEFT_STOP_NONE = 0,        /* the text continues */
  WEFT_STOP_END_OF_TEXT = 1, /* the model chose a token that ends it */
  WEFT_STOP_STRING = 2,      /* it reached a stop string */
  WEFT_STOP_COMPLETE = 3,    /* the grammar allows nothing more */
  WEFT_STOP_MAX_TOKENS = 4,
  WEFT_STOP_MAX_TIME = 5,
  WEFT_STOP_CONTEXT_FULL = 6,
  WEFT_STOP_CANCELLED = 7
};
typedef struct weft_generation_event {
  uint32_t struct_size;
  int32_t stop;
  weft_token token; /* -1 if the text ended without one */
  uint32_t n_top;
  const char* text; /* whole characters that can be shown now, and a NUL; until the next call */
  size_t text_size;
  float logprob;           /* the token's, if logprobs were requested */
  int32_t n_unshown;       /* how many of the last tokens may belong to a stop string */
  const weft_logprob* top; /* [n_top], best first; until the next call */
} weft_generation_event;
/* The next token with its text, or the end of the text, which every later call repeats. */
WEFT_API weft_status weft_generation_next(weft_generation* generation, weft_generation_event* event,
                                          weft_error** error);
/* Feeds the chosen tokens that the sequence does not hold yet. */
WEFT_API weft_status weft_generation_feed_last(weft_generation* generation, weft_error** error);
/* A generation that continues from here in another sequence, without drafts. */
WEFT_API weft_status weft_generation_fork(weft_generation* generation, int32_t to_sequence,
                                          const uint64_t* seed, weft_generation** fork,
                                          weft_error** error);
/* Refused (WEFT_ERROR_ARGUMENT) unless these are the tokens that the sequence holds. Texts reuse
 * them without this call; it remains for programs written for 1.0. */
WEFT_API weft_status weft_generation_adopt(weft_generation* generation, const weft_token* held,
                                           size_t n, weft_error** error);
/* From the next text on. */
WEFT_API weft_status weft_generation_set_sampler(weft_generation* generation,
                                                 const weft_sampler_options* sampler,
                                                 weft_error** error);
WEFT_API weft_status weft_generation_set_grammar(weft_generation* generation, weft_grammar* grammar,
                                                 weft_error** error);
typedef struct weft_generation_info {
  uint32_t struct_size;
  int32_t sequence;
  const weft_token* tokens; /* prompt and new tokens; until the next call */
  size_t n_tokens;
  int64_t n_prompt, n_reused, n_new, n_pending;
  int64_t n_held; /* how many of the tokens the sequence holds, from the first one on */
  int32_t ended;
  int32_t reserved;
  const char* stop_string; /* the one that was reached, or "" */
  int64_t n_guessed;       /* guesses of drafts that the sequence holds behind those tokens */
  /* Tokens that the text and its prompt lost when the context was full: `tokens` and n_prompt are
   * without them. Above 0, the text is not exact. */
  int64_t n_dropped;
} weft_generation_info;
WEFT_API weft_status weft_generation_get_info(weft_generation* generation,
                                              weft_generation_info* info, weft_error** error);

/* The logprobs of a token of a prompt, from the second one on. */
typedef struct weft_token_logprobs {
  weft_token token;
  float logprob;
  size_t n_top;
  const weft_logprob* top; /* [n_top], best first */
} weft_token_logprobs;
/* For generations with prompt_logprobs, after the first event; until the next call. A prompt that
 * weft_generation_prefill() computed has none. */
WEFT_API weft_status weft_generation_get_prompt_logprobs(weft_generation* generation,
                                                         const weft_token_logprobs** logprobs,
                                                         size_t* n, weft_error** error);

/* What follows a prompt, in one call, in a session of its own; both options may be NULL. The prompt
 * is read as by weft_generation_begin_text(); the caller frees the text with weft_text_free(). A
 * text that the session's poll cancels is lost (WEFT_ERROR_CANCELLED). */
WEFT_API weft_status weft_generate_text(weft_model* model, const weft_session_options* session,
                                        const char* prompt, size_t size,
                                        const weft_generation_options* options, weft_text* text,
                                        weft_error** error);

/* Several generations of one session in common steps, each with the bits it would have alone. */
typedef struct weft_batch weft_batch;
WEFT_API weft_status weft_batch_open(weft_session* session, weft_batch** batch, weft_error** error);
/* One step. has_event[i] is 1 if generations[i] has a token or an end, in events[i]; 0 if not:
 * prompts may take several steps; or the negated weft_status of its rules or its sampler, with the
 * message in events[i].text: the next step tries again. All events have the same struct_size.
 * WEFT_ERROR_ARGUMENT for a generation whose text has not begun. */
WEFT_API weft_status weft_batch_step(weft_batch* batch, weft_generation* const* generations,
                                     size_t n, weft_generation_event* events, int32_t* has_event,
                                     weft_error** error);
WEFT_API weft_status weft_batch_free(weft_batch* batch);

typedef struct weft_beam_options {
  uint32_t struct_size;
  int32_t beams;         /* live hypotheses */
  double length_penalty; /* a score: the sum of logprobs / the number of tokens to this power */
  const char* stopping; /* with enough complete texts: "never", "likely", "first"; NULL: "likely" */
} weft_beam_options;
WEFT_API weft_status weft_beam_options_init(weft_beam_options* options, size_t size);
/* The most likely whole texts after a prompt that was just begun in sequence 0, best first, under
 * the rules of the generation, which has then ended: [{"text", "tokens", "logprob", "score",
 * "ended"}]. Needs one sequence per beam; their contents are lost. */
WEFT_API weft_status weft_generation_search_json(weft_generation* generation,
                                                 const weft_beam_options* options, weft_text* json,
                                                 weft_error** error);

/* A text of a diffusion language model, whose masked tokens are filled in step by step, in any
 * order. */
typedef struct weft_diffusion weft_diffusion;
typedef struct weft_diffusion_options {
  uint32_t struct_size;
  weft_token mask_token;               /* -1: the vocabulary's */
  const weft_sampler_options* sampler; /* NULL: the defaults */
  int64_t max_tokens;                  /* new tokens, all of which every step computes */
  int64_t steps;
  int64_t block_length;  /* blocks from left to right; 0: the whole text at once */
  const char* algorithm; /* "confidence", "entropy", "margin", "random"; NULL: "confidence" */
  double algorithm_temperature;
  double eps;
  double guidance;      /* scale of classifier-free guidance; 0: none */
  int32_t shift_logits; /* 0 or 1; -1: as the file says */
  uint32_t reserved;    /* 0 */
} weft_diffusion_options;
WEFT_API weft_status weft_diffusion_options_init(weft_diffusion_options* options, size_t size);
/* Makes the steps of a session wide enough for such texts after prompts of up to n_prompt ids. */
WEFT_API weft_status weft_diffusion_fit_session(const weft_diffusion_options* options,
                                                size_t n_prompt, weft_session_options* session,
                                                weft_error** error);
WEFT_API weft_status weft_diffusion_open(weft_session* session, int32_t sequence,
                                         const weft_diffusion_options* options,
                                         weft_diffusion** diffusion, weft_error** error);
WEFT_API weft_status weft_diffusion_begin(weft_diffusion* diffusion, const weft_token* prompt,
                                          size_t n, weft_error** error);
/* Fills in tokens; *more becomes 0 if no token was masked any more, else 1. After a cancelled call
 * the text is unchanged. */
WEFT_API weft_status weft_diffusion_step(weft_diffusion* diffusion, int32_t* more,
                                         weft_error** error);
/* The new text up to the first token that ends it, with `masked` for masked tokens. */
WEFT_API weft_status weft_diffusion_get_text(weft_diffusion* diffusion, const char* masked,
                                             weft_text* text, weft_error** error);
typedef struct weft_diffusion_info {
  uint32_t struct_size;
  int32_t sequence;
  const weft_token* tokens; /* prompt and new tokens; until the next call */
  size_t n_tokens;
  int64_t n_prompt, n_masked, n_steps, steps_done;
} weft_diffusion_info;
WEFT_API weft_status weft_diffusion_get_info(weft_diffusion* diffusion, weft_diffusion_info* info,
                                             weft_error** error);
WEFT_API weft_status weft_diffusion_free(weft_diffusion* diffusion);

/* ---- Chats --------------------------------------------------------------------------- */
/* Messages, tools and calls are JSON in the form of OpenAI's chat completions. The content of a
 * message is a text; `reasoning_content` is the reasoning before it. */
typedef struct weft_chat weft_chat;           /* how a model chats */
typedef struct weft_chat_plan weft_chat_plan; /* one turn: prompt, constraint, how to read it */
typedef struct weft_reply weft_reply;         /* one reply while it is generated */

/* `chat_template`: Jinja, or the name of a built-in one ("chatml", ...); NULL: the model's, and
 * WEFT_ERROR_UNSUPPORTED if it has none. */
WEFT_API weft_status weft_chat_open(weft_model* model, const char* chat_template, weft_chat** chat,
                                    weft_error** error);
WEFT_API weft_status weft_chat_free(weft_chat* chat);

typedef struct weft_chat_turn {
  uint32_t struct_size;
  uint32_t single_call; /* 1: at most one call in the reply */
  const char* messages; /* a JSON array */
  const char* tools;    /* a JSON array; NULL: none */
  /* "auto", "none", "required", or the name of a tool, which is then called once. NULL: "auto". */
  const char* tool_choice;
  const char* variables; /* a JSON object for the template; NULL: none */
  /* A constraint on the answer, which follows the reasoning if no tool is called; one of
   * WEFT_GRAMMAR_GBNF on all that is generated. NULL: none, except with WEFT_GRAMMAR_JSON_OBJECT,
   * which needs no text. */
  const char* constraint;
  int32_t constraint_kind; /* WEFT_GRAMMAR_... */
  uint32_t without_generation_prompt;
  uint32_t answer_final_message; /* 1: a last message of the assistant is not continued */
  uint32_t reasoning_in_content; /* 1: reasoning stays content, with its marks */
  /* 1: events of calls come while they are written. 0: the same only if the reply is constrained to
   * well-formed calls, else when a call is complete, so that it is never dropped. */
  uint32_t early_calls;
  uint32_t reserved;
} weft_chat_turn;
WEFT_API weft_status weft_chat_turn_init(weft_chat_turn* turn, size_t size);

/* The names of the built-in templates: an array. */
WEFT_API weft_status weft_chat_templates_json(weft_text* json, weft_error** error);
/* One render of a template (as in weft_chat_open()) with exactly these variables, a JSON object:
 * messages, tools, bos_token, add_generation_prompt, ... Needs no model. */
WEFT_API weft_status weft_template_render(const char* chat_template, const char* variables,
                                          weft_text* text, weft_error** error);
/* The prompt of the plan as text. Messages name the member that is wrong: "tools[0]...". Malformed
 * JSON gives WEFT_ERROR_FORMAT, a constraint that cannot be enforced gives WEFT_ERROR_ARGUMENT. */
WEFT_API weft_status weft_chat_render(weft_chat* chat, const weft_chat_turn* turn, weft_text* text,
                                      weft_error** error);
WEFT_API weft_status weft_chat_plan_open(weft_chat* chat, const weft_chat_turn* turn,
                                         weft_chat_plan** plan, weft_error** error);
WEFT_API weft_status weft_chat_plan_get_tokens(weft_chat_plan* plan, const weft_token** tokens,
                                               size_t* n, weft_error** error);
/* Control tokens that weft_reply_push() needs as text, as they mark reasoning or calls. Only for
 * callers that decode tokens themselves. */
WEFT_API weft_status weft_chat_plan_get_shown(weft_chat_plan* plan, const weft_token** tokens,
                                              size_t* n, weft_error** error);
WEFT_API weft_status weft_chat_plan_get_text(weft_chat_plan* plan, const char** text, size_t* size,
                                             weft_error** error);
/* A new handle of the grammar of the reply; NULL if the reply is not constrained. */
WEFT_API weft_status weft_chat_plan_get_grammar(weft_chat_plan* plan, weft_grammar** grammar,
                                                weft_error** error);
/* Begins a text with the prompt of the plan and its grammar, which stays until another is set.
 * Marks of reasoning and calls appear in the text, as weft_reply_push() needs them. */
WEFT_API weft_status weft_generation_begin_chat(weft_generation* generation, weft_chat_plan* plan,
                                                int32_t keep_state, weft_error** error);
WEFT_API weft_status weft_chat_plan_free(weft_chat_plan* plan);

enum weft_reply_kind /* weft_reply_event.kind */ {
  WEFT_REPLY_CONTENT = 0,
  WEFT_REPLY_REASONING = 1,
  WEFT_REPLY_CALL_BEGIN = 2,     /* the text is the tool's name */
  WEFT_REPLY_CALL_ARGUMENTS = 3, /* a piece of the JSON object */
  WEFT_REPLY_CALL_END = 4,
  WEFT_REPLY_CALL_DROPPED = 5 /* with early_calls: malformed, its text follows as content */
};
typedef struct weft_reply_event {
  uint32_t struct_size;
  int32_t kind;
  int32_t call; /* its number, from 0; -1: no call */
  int32_t reserved;
  const char* text; /* ends with a NUL */
  size_t text_size;
  const char* id; /* of the call, or "" */
} weft_reply_event;
/* Receives events in order, which are valid until it returns. May be NULL. Anything but 0 ends the
 * call, after all events of this piece are part of the message. */
typedef int32_t (*weft_on_reply)(void* user, const weft_reply_event* event);
/* Calls to which the model gives no id have random ones. */
WEFT_API weft_status weft_reply_open(weft_chat_plan* plan, weft_reply** reply, weft_error** error);
/* The next piece of the reply, with the control tokens that mark reasoning and calls as text. */
WEFT_API weft_status weft_reply_push(weft_reply* reply, const char* text, size_t size,
                                     weft_on_reply on_reply, void* user, weft_error** error);
/* The end of the reply, after which it takes no more. */
WEFT_API weft_status weft_reply_finish(weft_reply* reply, weft_on_reply on_reply, void* user,
                                       weft_error** error);
/* The same, for a text that ended with `stop` (WEFT_STOP_...). If that is a limit, a cancellation
 * or WEFT_STOP_NONE, the beginning of a call at the end is dropped, else it is content. */
WEFT_API weft_status weft_reply_end(weft_reply* reply, int32_t stop, weft_on_reply on_reply,
                                    void* user, weft_error** error);
/* The message so far, without a call that is not complete: {"role": "assistant", "content": ...,
 * "reasoning_content": ..., "tool_calls": [...]}, the last two if there are any. */
WEFT_API weft_status weft_reply_message_json(weft_reply* reply, weft_text* json,
                                             weft_error** error);
WEFT_API weft_status weft_reply_free(weft_reply* reply);

/* A conversation in one sequence: it computes only what is new. */
typedef struct weft_conversation weft_conversation;
typedef struct weft_conversation_options {
  uint32_t struct_size;
  uint32_t single_call;
  weft_chat* chat;                     /* of the session's model; NULL: that of its template */
  const char* system;                  /* NULL: none */
  const char* tools;                   /* as in weft_chat_turn */
  const char* tool_choice;             /* likewise */
  const char* variables;               /* likewise */
  const char* constraint;              /* of every reply */
  const weft_sampler_options* sampler; /* NULL: the defaults */
  const weft_string* stops;
  uint32_t n_stops;
  int32_t constraint_kind;
  int64_t max_reply;             /* tokens; -1: no limit */
  weft_speculation* speculation; /* of the same session; NULL: no drafts */
} weft_conversation_options;
WEFT_API weft_status weft_conversation_options_init(weft_conversation_options* options,
                                                    size_t size);
WEFT_API weft_status weft_conversation_open(weft_session* session, int32_t sequence,
                                            const weft_conversation_options* options,
                                            weft_conversation** conversation, weft_error** error);
/* Adds a message of the user and passes on the reply; *stop is why it ended (WEFT_STOP_...). A
 * reply with a `prefill` begins with it (NULL: none); it cannot have a constraint. A cancelled
 * reply stays as far as it came (WEFT_STOP_CANCELLED); a message without any reply does not, and
 * after an error the messages are as before. */
WEFT_API weft_status weft_conversation_say(weft_conversation* conversation, const char* message,
                                           size_t size, const char* prefill, weft_on_reply on_reply,
                                           void* user, int32_t* stop, weft_error** error);
/* The result of the first open call. After the last one the model continues; until then *stop is
 * WEFT_STOP_NONE. WEFT_ERROR_ARGUMENT if no call is open. */
WEFT_API weft_status weft_conversation_answer_call(weft_conversation* conversation,
                                                   const char* result, size_t size,
                                                   weft_on_reply on_reply, void* user,
                                                   int32_t* stop, weft_error** error);
/* Calls of the last reply without a result: [{"id", "name", "arguments"}], all texts. */
WEFT_API weft_status weft_conversation_open_calls_json(weft_conversation* conversation,
                                                       weft_text* json, weft_error** error);
/* All messages, in the form of weft_chat_turn.messages. */
WEFT_API weft_status weft_conversation_messages_json(weft_conversation* conversation,
                                                     weft_text* json, weft_error** error);
/* Removes the last message of the user and what follows, and returns it; "" if there is none. */
WEFT_API weft_status weft_conversation_undo_turn(weft_conversation* conversation,
                                                 weft_text* message, weft_error** error);
/* Removes everything but the system prompt. */
WEFT_API weft_status weft_conversation_reset(weft_conversation* conversation, weft_error** error);
/* The same, with another system prompt from now on; NULL: none. */
WEFT_API weft_status weft_conversation_set_system(weft_conversation* conversation,
                                                  const char* system, weft_error** error);
/* As JSON if the name ends with .json, otherwise with the memory of the sequence. A file that is
 * not a conversation is not replaced (WEFT_ERROR_UNSUPPORTED). */
WEFT_API weft_status weft_conversation_save(weft_conversation* conversation, const char* path,
                                            weft_error** error);
/* Continues a saved conversation, with its system prompt. Its tools and variables are used only if
 * this conversation has none. *n_cached (may be NULL): tokens that need not be computed. */
WEFT_API weft_status weft_conversation_load(weft_conversation* conversation, const char* path,
                                            int64_t* n_cached, weft_error** error);
WEFT_API weft_status weft_conversation_free(weft_conversation* conversation);

/* ---- Embeddings and reranking -------------------------------------------------------- */
typedef struct weft_embedder weft_embedder;
typedef struct weft_embedder_options {
  uint32_t struct_size;
  int32_t norm; /* -1: none, 0: largest magnitude 32760, 2: Euclidean, p: p-norm */
  /* "none" (a row per token), "mean", "cls", "last", "rank" (scores of a classifier), "cls+max"
   * and so on. NULL: as the file says, else the mean. */
  const char* pooling;
  int64_t max_tokens; /* of the longest text; 0: as many as the context */
  uint32_t truncate;  /* 1: cut texts that are too long; else they are refused */
  int32_t texts_per_step;
  const weft_session_options* session; /* NULL: the defaults */
  /* A session of the same model, whose budget both share: mem_budget and caller_bytes of `session`
   * have no effect. NULL: none. */
  weft_session* beside;
} weft_embedder_options;
WEFT_API weft_status weft_embedder_options_init(weft_embedder_options* options, size_t size);
WEFT_API weft_status weft_embedder_open(weft_model* model, const weft_embedder_options* options,
                                        weft_embedder** embedder, weft_error** error);
/* Other values of these two options, for texts from now on. */
WEFT_API weft_status weft_embedder_set_output(weft_embedder* embedder, int32_t norm,
                                              uint32_t truncate, weft_error** error);
WEFT_API weft_status weft_embedder_cancel(weft_embedder* embedder);
WEFT_API weft_status weft_embedder_free(weft_embedder* embedder);

typedef struct weft_embedding {
  const float* values; /* [width], or [n_tokens, width] without pooling; until the next call */
  size_t n_values;
  int64_t n_tokens; /* that were read */
} weft_embedding;
/* Fills embeddings[n], in the order of the texts. */
WEFT_API weft_status weft_embedder_embed(weft_embedder* embedder, const weft_string* texts,
                                         size_t n, weft_embedding* embeddings, weft_error** error);
/* The same for a text of tokens. */
WEFT_API weft_status weft_embedder_embed_tokens(weft_embedder* embedder, const weft_token* tokens,
                                                size_t n, weft_embedding* embedding,
                                                weft_error** error);
typedef struct weft_embedder_info {
  uint32_t struct_size;
  uint32_t truncate;
  const char* pooling; /* until the embedder is freed */
  int64_t width, max_tokens;
} weft_embedder_info;
WEFT_API weft_status weft_embedder_get_info(weft_embedder* embedder, weft_embedder_info* info,
                                            weft_error** error);
typedef struct weft_rerank_score {
  size_t index; /* of the document */
  float score;
  int32_t reserved;
  int64_t n_tokens;
} weft_rerank_score;
/* How well documents answer the query: scores[n], best first. Needs the pooling "rank". */
WEFT_API weft_status weft_embedder_rerank(weft_embedder* embedder, const char* query,
                                          size_t query_size, const weft_string* documents, size_t n,
                                          weft_rerank_score* scores, weft_error** error);

/* ---- Graphs -------------------------------------------------------------------------- */
/* A graph of ops, built node by node. Shapes have the slowest dimension first. */
typedef struct weft_graph weft_graph;
typedef int32_t weft_tensor_id; /* a node of a graph; -1: none, an absent optional input */

/* A dimension: a number, or a variable of the graph up to a bound. `variable` is what
 * weft_graph_variable() gave, or 0. Only the first dimension of a shape may vary. */
typedef struct weft_dim {
  int64_t bound;
  int32_t variable;
  int32_t reserved; /* 0 */
} weft_dim;

/* All ops: [{"name", "inputs": [{"name", "optional"}], "variadic", "attributes": {name: default}}].
 * docs and headers in weft/ops say what each computes. */
WEFT_API weft_status weft_ops_json(weft_text* json, weft_error** error);

WEFT_API weft_status weft_graph_open(weft_graph** graph, weft_error** error);
WEFT_API weft_status weft_graph_free(weft_graph* graph);
/* The source line of nodes that are added from now on, for messages and plans. */
WEFT_API weft_status weft_graph_set_line(weft_graph* graph, const char* file, uint32_t line,
                                         weft_error** error);
/* A dimension that varies from run to run. The same name gives the same variable. */
WEFT_API weft_status weft_graph_variable(weft_graph* graph, const char* name, int64_t bound,
                                         weft_dim* dim, weft_error** error);
/* `dtype`: "F32", "I32", "F16", "Q4_K", ... */
WEFT_API weft_status weft_graph_input(weft_graph* graph, const char* name, const char* dtype,
                                      const weft_dim* dims, size_t rank, weft_tensor_id* tensor,
                                      weft_error** error);
WEFT_API weft_status weft_graph_weight(weft_graph* graph, const char* name, const char* dtype,
                                       const weft_dim* dims, size_t rank, weft_tensor_id* tensor,
                                       weft_error** error);
/* Memory that outlives a run, zero at first. */
WEFT_API weft_status weft_graph_state(weft_graph* graph, const char* name, const char* dtype,
                                      const weft_dim* dims, size_t rank, weft_tensor_id* tensor,
                                      weft_error** error);
/* Adds an op, with its inputs in order and attributes by name; those that are not given have their
 * defaults. Paths, shapes and errors are those of the C++ functions. */
WEFT_API weft_status weft_graph_op(weft_graph* graph, const char* op, const weft_tensor_id* inputs,
                                   size_t n_inputs, const weft_value* attributes,
                                   size_t n_attributes, weft_tensor_id* tensor, weft_error** error);
/* The path of a node, within the current scope. */
WEFT_API weft_status weft_graph_set_name(weft_graph* graph, weft_tensor_id tensor, const char* name,
                                         weft_error** error);
/* A prefix for the paths of nodes from now on: "blk.3". */
WEFT_API weft_status weft_graph_push_scope(weft_graph* graph, const char* prefix,
                                           weft_error** error);
WEFT_API weft_status weft_graph_pop_scope(weft_graph* graph, weft_error** error);
WEFT_API weft_status weft_graph_output(weft_graph* graph, const char* name, weft_tensor_id tensor,
                                       weft_error** error);
/* Checks the whole graph, as planning it does. */
WEFT_API weft_status weft_graph_check(weft_graph* graph, weft_error** error);

typedef struct weft_tensor_info {
  uint32_t struct_size;
  int32_t rank;
  weft_dim dims[4];
  const char* kind; /* "input", "weight", "state" or "op" */
  const char* op;   /* "" unless it is one */
  const char* path; /* strings belong to the graph */
  const char* dtype;
} weft_tensor_info;
WEFT_API weft_status weft_graph_get_size(weft_graph* graph, int32_t* n_nodes, weft_error** error);
WEFT_API weft_status weft_graph_get_tensor(weft_graph* graph, weft_tensor_id tensor,
                                           weft_tensor_info* info, weft_error** error);
/* {"variables": [{"name", "bound"}], "nodes": [{"id", "path", "kind", "op", "inputs", "attributes",
 * "dtype", "shape", "where", "made_by"}], "outputs": [{"name", "node"}]}. Dimensions that vary
 * appear by the name of their variable. */
WEFT_API weft_status weft_graph_json(weft_graph* graph, weft_text* json, weft_error** error);
WEFT_API weft_status weft_graph_dot(weft_graph* graph, weft_text* dot, weft_error** error);
/* A picture of a text for Graphviz, whose program `dot` draws it: WEFT_ERROR_UNSUPPORTED if it is
 * not installed. */
WEFT_API weft_status weft_dot_svg(const char* dot, size_t size, weft_text* svg, weft_error** error);
/* The graph of a model for steps of up to that many tokens, before passes. */
WEFT_API weft_status weft_model_graph(weft_model* model, int64_t n_tokens, weft_graph** graph,
                                      weft_error** error);
/* A tensor of the model's file by its name, decoded to F32: at most `capacity` values and their
 * number, as weft_tokenize() writes ids. `info` (may be NULL) gets its shape and its type in the
 * file, also if there is no room; strings in it belong to the model. */
WEFT_API weft_status weft_model_read_tensor(weft_model* model, const char* name,
                                            weft_tensor_info* info, float* values, size_t capacity,
                                            size_t* n, weft_error** error);

/* A planned graph, ready to run. Later changes of the graph do not affect it. */
typedef struct weft_computation weft_computation;
typedef struct weft_computation_options {
  uint32_t struct_size;
  int32_t workers;           /* 0: min(2, processors) */
  const char* backend;       /* as in weft_session_options */
  const char* route;         /* likewise */
  const char* passes_off;    /* likewise */
  uint32_t separate_tensors; /* 1: every tensor has its own memory: weft_computation_get_tensor() */
  uint32_t reserved;         /* 0 */
  int64_t mem_budget;        /* bytes of all tensors; 0: what the system has */
  weft_poll poll;            /* for weft_computation_run(); may be NULL */
  void* poll_user;
} weft_computation_options;
WEFT_API weft_status weft_computation_options_init(weft_computation_options* options, size_t size);
WEFT_API weft_status weft_computation_open(weft_graph* graph,
                                           const weft_computation_options* options,
                                           weft_computation** computation, weft_error** error);
WEFT_API weft_status weft_computation_free(weft_computation* computation);
/* Copies the value of a weight, in the graph's type, before the first run; `size` in bytes. */
WEFT_API weft_status weft_computation_set_weight(weft_computation* computation, const char* name,
                                                 const void* data, size_t size, weft_error** error);
/* The memory of an input at its bounds, to be written before each run; or of a state. */
WEFT_API weft_status weft_computation_get_input(weft_computation* computation, const char* name,
                                                void** data, size_t* size, weft_error** error);
WEFT_API weft_status weft_computation_get_state(weft_computation* computation, const char* name,
                                                void** data, size_t* size, weft_error** error);
/* One run; `extents` has a value for each variable of the graph, in the order of their making. */
WEFT_API weft_status weft_computation_run(weft_computation* computation, const int64_t* extents,
                                          size_t n_extents, weft_error** error);
WEFT_API weft_status weft_computation_cancel(weft_computation* computation);
typedef struct weft_array {
  void* data; /* of inputs and results: to be read only */
  const char* dtype;
  int32_t rank;
  int32_t reserved;
  int64_t dims[4];
  int64_t row_stride; /* bytes between rows of the first dimension */
} weft_array;
/* An output with the extents of the last run, in the memory of the computation, until the next. */
WEFT_API weft_status weft_computation_get_output(weft_computation* computation, const char* name,
                                                 weft_array* array, weft_error** error);
/* Any node by its path; needs separate_tensors. */
WEFT_API weft_status weft_computation_get_tensor(weft_computation* computation, const char* path,
                                                 weft_array* array, weft_error** error);
/* Runs on one lane, and compares every node with its scalar definition. */
WEFT_API weft_status weft_computation_verify(weft_computation* computation, const int64_t* extents,
                                             size_t n_extents, int32_t* passed, weft_text* json,
                                             weft_error** error);
WEFT_API weft_status weft_computation_plan_json(weft_computation* computation, weft_text* json,
                                                weft_error** error);
WEFT_API weft_status weft_computation_plan_svg(weft_computation* computation, weft_text* svg,
                                               weft_error** error);
WEFT_API weft_status weft_computation_get_plan_hash(weft_computation* computation, uint64_t* hash,
                                                    weft_error** error);

/* ---- Custom ops and architectures ---------------------------------------------------- */
/* Type and shape of an input or an output of a custom op. */
typedef struct weft_spec {
  const char* dtype;
  int32_t rank;
  int32_t reserved;
  weft_dim dims[4];
} weft_spec;
enum weft_op_flag {
  WEFT_OP_REPLACES = 1u << 0 /* another one of this name may be registered already */
};
/* Defines an op that is not built in. Plans run its `compute` on one lane, as the kernel "NAME
 * custom"; proofs compare it with itself, and say so. */
typedef struct weft_op {
  uint32_t struct_size;
  uint32_t n_inputs;
  const char* name;               /* no built-in op has it */
  const char* const* input_names; /* [n_inputs] */
  void* user;
  /* The type and shape of the output, or an error. From any thread. */
  weft_status (*infer)(void* user, const weft_spec* inputs, size_t n, const weft_value* attributes,
                       size_t n_attributes, weft_spec* output, weft_error** error);
  /* Computes the whole output, whose memory is written at data. From one of the session's workers,
   * one call at a time per plan; an error ends the step. */
  weft_status (*compute)(void* user, const weft_array* inputs, size_t n,
                         const weft_value* attributes, size_t n_attributes, weft_array* output,
                         weft_error** error);
  uint32_t flags;    /* WEFT_OP_REPLACES */
  uint32_t reserved; /* 0 */
  /* How a sharded model divides it. "elementwise": any part of the output needs the same part of
   * inputs of its shape, others are repeated for rows, heads or elements. "heads": head h of the
   * output [T, H, E] needs head h of input 0 and of others with H heads. "whole": every rank
   * computes all of it. NULL: as "whole", and sharded models warn about it. */
  const char* sharding;
} weft_op;
/* Registers it for the life of the process. All that `op` refers to is copied, except `user`.
 * Graphs that have a replaced op keep it. */
WEFT_API weft_status weft_register_op(const weft_op* op, weft_error** error);

/* What a callback of an architecture gets; valid until it returns. */
typedef struct weft_config weft_config;   /* keys of the file, and values read from them */
typedef struct weft_builder weft_builder; /* the graph of a step */

/* Keys "ARCH.*" by their names without the architecture. Values out of min..max are refused; absent
 * keys give `fallback`. Builders can read every value again. */
WEFT_API weft_status weft_config_integer(weft_config* config, const char* key, int64_t min,
                                         int64_t max, int64_t fallback, int64_t* value,
                                         weft_error** error);
WEFT_API weft_status weft_config_number(weft_config* config, const char* key, double min,
                                        double max, double fallback, double* value,
                                        weft_error** error);
WEFT_API weft_status weft_config_flag(weft_config* config, const char* key, int32_t fallback,
                                      int32_t* value, weft_error** error);
/* NULL if it is absent; until the callback returns. */
WEFT_API weft_status weft_config_text(weft_config* config, const char* key, const char** text,
                                      weft_error** error);
/* Refuses the file: "FILE: key 'ARCH.KEY' PROBLEM". */
WEFT_API weft_status weft_config_refuse(weft_config* config, const char* key, const char* problem,
                                        weft_error** error);

/* Shared hyper-parameters by the letters of docs/glossary.md: "L", "D", "V", "context", "eps",
 * "attention_scale" (1 / sqrt(E)), "X", "K", ..., and of a layer "H", "G", "E", "Ev", "F",
 * "window", "kv_of". layer = -1: values of the model, and those that all layers share. */
WEFT_API weft_status weft_builder_get_number(weft_builder* builder, int64_t layer, const char* name,
                                             double* value, weft_error** error);
WEFT_API weft_status weft_builder_get_integer(weft_builder* builder, int64_t layer,
                                              const char* name, int64_t* value, weft_error** error);
/* The attributes of rope as the file says, for weft_graph_op("rope_angles"): n values of at most
 * `capacity`. */
WEFT_API weft_status weft_builder_get_rope(weft_builder* builder, weft_value* values,
                                           size_t capacity, size_t* n, weft_error** error);
/* The graph that is being built. The handle belongs to the builder. */
WEFT_API weft_status weft_builder_get_graph(weft_builder* builder, weft_graph** graph,
                                            weft_error** error);
enum weft_step_input {
  WEFT_INPUT_TOKENS = 0,    /* [T] I32 */
  WEFT_INPUT_POSITIONS = 1, /* [T] I32 */
  WEFT_INPUT_OUT_ROWS = 2   /* [O] I32: rows of the step that need logits */
};
WEFT_API weft_status weft_builder_get_input(weft_builder* builder, int32_t which,
                                            weft_tensor_id* tensor, weft_error** error);
/* 1 if the result is the normalized rows [O, D] instead of logits [O, V]. */
WEFT_API weft_status weft_builder_wants_embeddings(weft_builder* builder, int32_t* wants,
                                                   weft_error** error);
enum weft_weight_flag {
  WEFT_WEIGHT_OPTIONAL = 1u << 0, /* -1 if the file lacks it */
  WEFT_WEIGHT_SQUEEZED = 1u << 1, /* dimensions of 1 may differ */
  WEFT_WEIGHT_STACKED = 1u << 2   /* [X, N, K] that files may hold as [X N, K] */
};
/* A weight of the file by name, within the current block. */
WEFT_API weft_status weft_builder_weight(weft_builder* builder, const char* name,
                                         const int64_t* dims, size_t rank, uint32_t flags,
                                         weft_tensor_id* tensor, weft_error** error);
WEFT_API weft_status weft_builder_has_weight(weft_builder* builder, const char* name, int32_t* has,
                                             weft_error** error);
/* Declares that files may have this tensor although the graph does not use it. */
WEFT_API weft_status weft_builder_ignore_weight(weft_builder* builder, const char* name,
                                                weft_error** error);
/* Weights and paths of layer i, "blk.i.", until the block ends. */
WEFT_API weft_status weft_builder_begin_block(weft_builder* builder, int64_t i, weft_error** error);
WEFT_API weft_status weft_builder_end_block(weft_builder* builder, weft_error** error);
typedef struct weft_attend_options {
  uint32_t struct_size;
  uint32_t both_ways;       /* 1: tokens also see later ones */
  int64_t window;           /* the last tokens that are seen; 0: all */
  int64_t chunk;            /* tokens see only their own chunk of this many positions; 0: all */
  double scale;             /* of q.k; 0: 1 / sqrt(E) */
  double softcap;           /* of scores; 0: none */
  double alibi;             /* 0: none */
  weft_tensor_id sinks;     /* -1: none */
  weft_tensor_id distances; /* -1: none; as in weft/ops/attention/attention.h */
} weft_attend_options;
WEFT_API weft_status weft_attend_options_init(weft_attend_options* options, size_t size);
/* Stores k [T, G, E] and v [T, G, Ev] of this step in the memory of their sequences; every token of
 * q [T, H, E] attends to those up to itself: [T, H, Ev]. */
WEFT_API weft_status weft_builder_attend(weft_builder* builder, int64_t layer, weft_tensor_id q,
                                         weft_tensor_id k, weft_tensor_id v,
                                         const weft_attend_options* options, weft_tensor_id* y,
                                         weft_error** error);
/* Attends to the keys and values that weft_builder_attend() stored for an earlier layer. */
WEFT_API weft_status weft_builder_attend_stored(weft_builder* builder, int64_t layer,
                                                weft_tensor_id q,
                                                const weft_attend_options* options,
                                                weft_tensor_id* y, weft_error** error);
/* As weft_builder_attend(), with vectors c [T, G, E] that are both key and value: [T, H, E]. Takes
 * no softcap and no alibi. */
WEFT_API weft_status weft_builder_attend_latent(weft_builder* builder, int64_t layer,
                                                weft_tensor_id q, weft_tensor_id c,
                                                const weft_attend_options* options,
                                                weft_tensor_id* y, weft_error** error);
/* A recurrent op with a state per sequence: "scan", "token_shift", "causal_conv",
 * "gated_linear_attention", "delta_rule", "selective_scan", with the inputs of the C++ function
 * (weft/arch/memory.h). */
WEFT_API weft_status weft_builder_recurrent(weft_builder* builder, const char* kind,
                                            const char* state, const int64_t* dims, size_t rank,
                                            const weft_tensor_id* inputs, size_t n_inputs,
                                            weft_tensor_id* y, weft_error** error);
/* Blocks that architectures share (weft/arch/blocks.h). The norm of the file: weight and bias. */
WEFT_API weft_status weft_builder_norm(weft_builder* builder, const char* name, weft_tensor_id x,
                                       weft_tensor_id* y, weft_error** error);
/* x NAME.weight^T, with the scale and the bias if the file has them. */
WEFT_API weft_status weft_builder_project(weft_builder* builder, const char* name, int64_t n_out,
                                          int64_t n_in, weft_tensor_id x, weft_tensor_id* y,
                                          weft_error** error);
/* The divisors of the frequencies of rope; -1: none. */
WEFT_API weft_status weft_builder_rope_factors(weft_builder* builder, weft_tensor_id* factors,
                                               weft_error** error);
/* The final norm, and the logits of the rows that need them. `embeddings` (-1: none) take the place
 * of output.weight in files without it. */
WEFT_API weft_status weft_builder_head(weft_builder* builder, weft_tensor_id h,
                                       weft_tensor_id embeddings, weft_tensor_id* rows,
                                       weft_error** error);

enum weft_architecture_flag /* weft_architecture.flags */ {
  WEFT_ARCHITECTURE_LAYER_NORM = 1u << 0, /* files have the epsilon of layer norms, not RMS */
  WEFT_ARCHITECTURE_BOTH_WAYS = 1u << 1,  /* not causal unless the file says so */
  WEFT_ARCHITECTURE_EXPERTS = 1u << 2,    /* reads the keys of mixtures of experts */
  WEFT_ARCHITECTURE_DIFFUSES = 1u << 3,
  WEFT_ARCHITECTURE_REPLACES = 1u << 4 /* another one of this name may be registered already */
};
typedef struct weft_architecture {
  uint32_t struct_size;
  uint32_t flags;
  const char* name; /* general.architecture */
  void* user;
  /* Reads keys beyond those that decoders share; may be NULL. */
  weft_status (*configure)(void* user, weft_config* config, weft_error** error);
  /* Adds the nodes of a step and gives the result: logits [O, V], or rows [O, D]. */
  weft_status (*build)(void* user, weft_builder* builder, weft_tensor_id* result,
                       weft_error** error);
} weft_architecture;
/* Registers it for the life of the process. Callbacks run on any thread, several at the same time.
 * Models that were loaded with a replaced architecture keep it. */
WEFT_API weft_status weft_register_architecture(const weft_architecture* architecture,
                                                weft_error** error);
/* Loads ops and architectures from a shared library, whose weft_extension_start() registers them.
 * Weft's programs do the same with --extension FILE; docs/c_api.md says how to build one. A library
 * is started once per process, and stays loaded. */
typedef weft_status (*weft_extension_entry)(uint32_t api_version, weft_error** error);
WEFT_API weft_status weft_load_extension(const char* path, weft_error** error);
WEFT_API weft_status weft_architectures_json(weft_text* json, weft_error** error); /* names */

/* ---- Tools --------------------------------------------------------------------------- */
/* A canceller may be NULL. */
/* Header, metadata and tensors of a file or folder, as `weft inspect --json`. */
WEFT_API weft_status weft_inspect_json(const char* path, weft_text* json, weft_error** error);
/* The plans of a session, without loading weights, as `weft plan --json`. */
WEFT_API weft_status weft_plan_json(weft_model* model, const weft_session_options* options,
                                    weft_text* json, weft_error** error);
/* Compares every node with its scalar definition, as `weft verify --json`. With n = 0: 8 random
 * tokens, and steps across the borders of blocks and width classes. *passed becomes 0 or 1. */
WEFT_API weft_status weft_verify_json(weft_model* model, const weft_session_options* options,
                                      const weft_token* tokens, size_t n, weft_canceller* canceller,
                                      int32_t* passed, weft_text* json, weft_error** error);
/* The checks of `weft selftest`; options->progress is also called before each of them. The check of
 * memory may fail while other sessions have the model's weights, or other threads allocate. */
WEFT_API weft_status weft_selftest_json(weft_model* model, const weft_session_options* options,
                                        weft_canceller* canceller, int32_t* passed, weft_text* json,
                                        weft_error** error);
/* The checks of `weft new-model-check` for a built-in or registered architecture. `keys`: further
 * keys of the tiny model, or other values. `snapshot`: a file with the graph as Graphviz text,
 * which is made if it does not exist; NULL: none. */
WEFT_API weft_status weft_check_new_model_json(const char* architecture, const weft_value* keys,
                                               size_t n_keys, const char* snapshot,
                                               weft_canceller* canceller, int32_t* passed,
                                               weft_text* json, weft_error** error);
/* A tiny model of an architecture with random weights as a GGUF file, always the same. */
WEFT_API weft_status weft_write_made_model(const char* architecture, const weft_value* keys,
                                           size_t n_keys, const char* path, weft_error** error);

typedef struct weft_bench_options {
  uint32_t struct_size;
  int32_t repeats;                     /* after one that is not measured: 1 to 1000 */
  int64_t prompt_tokens;               /* 0: no test of prompts */
  int64_t generated_tokens;            /* 0: no test of generation */
  int64_t depth;                       /* tokens before them */
  const weft_session_options* session; /* NULL: the defaults; context 0: as long as needed */
} weft_bench_options;
WEFT_API weft_status weft_bench_options_init(weft_bench_options* options, size_t size);
/* Tokens, bytes and multiply-adds per second, as `weft bench --no-limits --json`. */
WEFT_API weft_status weft_bench_json(weft_model* model, const weft_bench_options* options,
                                     weft_canceller* canceller, weft_text* json,
                                     weft_error** error);
/* What this machine can do: bytes and multiply-adds per second. Takes seconds; a cancelled call
 * ends after the current pass. workers 0: the default workers. max_bytes 0: half the default
 * budget; below 64 MiB, reads are not measured. */
WEFT_API weft_status weft_limits_json(int32_t workers, int64_t max_bytes, weft_canceller* canceller,
                                      weft_text* json, weft_error** error);

typedef struct weft_quantize_options {
  uint32_t struct_size;
  uint32_t pure;              /* 1: the main type for all tensors */
  const char* type;           /* required: "Q4_K_M", ..., in any case */
  const char* tensor_types;   /* "REGEX=TYPE", one per line, the first that matches; NULL: none */
  const char* output_type;    /* of output.weight; NULL: the mix's */
  const char* embedding_type; /* of token_embd.weight; likewise */
  const char* imatrix;        /* path of an importance matrix; NULL: none */
  uint32_t leave_output;      /* 1: output.weight stays as it is */
  uint32_t allow_requantize;  /* 1: also convert tensors that are quantized; else refused */
  uint32_t nonfinite_to_zero; /* 1: write 0 for NaN and infinity; else refused */
  int32_t workers;            /* 0: min(2, processors) */
  weft_progress progress;
  void* progress_user;
  weft_log log; /* warnings, before anything is written; may be NULL */
  void* log_user;
} weft_quantize_options;
WEFT_API weft_status weft_quantize_options_init(weft_quantize_options* options, size_t size);
/* Writes a GGUF file in other types; it appears when it is complete. */
WEFT_API weft_status weft_quantize(const char* input, const char* output,
                                   const weft_quantize_options* options, weft_error** error);
/* Writes a folder of safetensors as a GGUF file; `type`: "F32", "F16", "BF16"; NULL: unchanged. */
WEFT_API weft_status weft_convert(const char* folder, const char* output, const char* type,
                                  weft_progress progress, void* user, weft_error** error);

#ifdef __cplusplus
}
#endif

#include "weft/initializers.h" /* WEFT_X_OPTIONS_INIT */

#endif
