#include <string>
#include <utility>

#include "weft/run/saved_sequence.h"

#include "border/arguments.h"
#include "border/call.h"
#include "border/objects.h"
#include "models/generation.h"

namespace weft::c_api {
namespace {

struct SavedObject : Object {
  static constexpr Kind kKind = Kind::saved;
  explicit SavedObject(std::string copied)
      : Object(kKind),
        bytes(std::move(copied)),
        saved(SavedSequence::parse(std::as_bytes(std::span(bytes)), "a saved sequence in memory")) {
  }
  explicit SavedObject(SavedSequence opened) : Object(kKind), saved(std::move(opened)) {}

  const std::string bytes;  // of `saved`, unless it is a file
  const SavedSequence saved;
};

}  // namespace
}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_session_save(weft_session* session, int32_t sequence, const weft_token* tokens,
                              size_t n, const char* note, size_t note_size, weft_text* bytes,
                              weft_error** error) {
  return call(error, [&] {
    required(bytes, "bytes");
    const UsedSession s(session);
    std::string all;
    set_guesses_aside(*s.object(), sequence);
    if (tokens || n > 0) require_tokens(*s, sequence, array(tokens, n, "tokens"));
    save_sequence(*s, sequence, text(note, note_size, "note"),
                  [&](std::span<const std::byte> piece) {
                    all.append(reinterpret_cast<const char*>(piece.data()), piece.size());
                  });
    write_text(bytes, all);
  });
}

weft_status weft_session_save_file(weft_session* session, int32_t sequence,
                                   const weft_token* tokens, size_t n, const char* note,
                                   size_t note_size, const char* path, weft_error** error) {
  return call(error, [&] {
    const UsedSession s(session);
    set_guesses_aside(*s.object(), sequence);
    if (tokens || n > 0) require_tokens(*s, sequence, array(tokens, n, "tokens"));
    save_sequence(*s, sequence, text(note, note_size, "note"),
                  std::string(required_text(path, "path")));
  });
}

weft_status weft_saved_open_memory(const void* data, size_t size, weft_saved** saved,
                                   weft_error** error) {
  return call(error, [&] {
    required(saved, "saved");
    *saved = handle_of<weft_saved>(std::make_shared<SavedObject>(
        std::string(text(static_cast<const char*>(data), size, "data"))));
  });
}

weft_status weft_saved_open(const char* path, weft_saved** saved, weft_error** error) {
  return call(error, [&] {
    required(saved, "saved");
    *saved = handle_of<weft_saved>(std::make_shared<SavedObject>(
        SavedSequence::open(std::string(required_text(path, "path")))));
  });
}

weft_status weft_saved_get_tokens(weft_saved* saved, const weft_token** tokens, size_t* n,
                                  weft_error** error) {
  return call(error, [&] {
    const auto all = pin<SavedObject>(saved)->saved.tokens();
    give(all, tokens, n, "tokens", "n");
  });
}

weft_status weft_saved_get_note(weft_saved* saved, const char** note, size_t* size,
                                weft_error** error) {
  return call(error, [&] {
    const auto all = pin<SavedObject>(saved)->saved.note();
    give(all, note, size, "note", "size");
  });
}

weft_status weft_saved_restore(weft_saved* saved, weft_session* session, int32_t sequence,
                               int64_t n_tokens, weft_error** error) {
  return call(error, [&] {
    const auto object = pin<SavedObject>(saved);
    const UsedSession s(session);
    object->saved.restore(*s, sequence,
                          n_tokens == -1 ? std::ssize(object->saved.tokens()) : n_tokens);
  });
}

weft_status weft_saved_get_resume_point(weft_saved* saved, weft_session* session, int64_t n_tokens,
                                        int64_t* resume_point, weft_error** error) {
  return call(error, [&] {
    const auto object = pin<SavedObject>(saved);
    const UsedSession s(session);
    check_between(n_tokens, 0, std::ssize(object->saved.tokens()), "n_tokens");
    if (const std::string why = object->saved.why_not(*s); !why.empty()) throw ValueError(why);
    required(resume_point, "resume_point") = object->saved.resume_point(*s, n_tokens);
  });
}

weft_status weft_saved_free(weft_saved* saved) {
  return free_handle<SavedObject>(saved);
}
