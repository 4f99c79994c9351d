#pragma once
// Generations, as batches and chats use them.

#include <memory>
#include <string>
#include <vector>

#include "weft/serve/generation.h"

#include "border/objects.h"

namespace weft::c_api {

// Which control tokens appear as text: all, or those of the chat that was begun last.
struct ShownControl {
  bool all = false;
  std::vector<TokenId> of_chat;
};

struct GenerationObject : Object {
  static constexpr Kind kKind = Kind::generation;
  GenerationObject(std::shared_ptr<SessionObject> of, std::shared_ptr<ShownControl> control,
                   Generation made)
      : Object(kKind),
        session(std::move(of)),
        shown(std::move(control)),
        generation(std::make_shared<Generation>(std::move(made))) {}
  ~GenerationObject() override;
  bool is_parents() const override { return session->is_parents(); }
  Generation& inner() { return *generation; }

  const std::shared_ptr<SessionObject> session;
  Gate& gate = session->gate;
  const std::shared_ptr<ShownControl> shown;     // the generation refers to it
  const std::shared_ptr<Generation> generation;  // not null
  std::shared_ptr<const Grammar> grammar;        // for texts that begin from now on; may be null
  // What the last event and info refer to.
  std::string text, stop_string;
  std::vector<weft_logprob> top;
  std::vector<weft_logprob> prompt_top;
  std::vector<weft_token_logprobs> prompt_logprobs;
};

using UsedGeneration = Used<GenerationObject>;

// Removes the guesses of running texts from a sequence, of which they are no tokens, before all of
// it is saved or copied. REQUIRES: the call is inside the session.
void set_guesses_aside(SessionObject& session, std::int32_t sequence);

// Keeps what the event refers to in the object, and fills the caller's struct.
void give_event(const GenerationEvent& event, GenerationObject& object, weft_generation_event* out);

}  // namespace weft::c_api
