// /slots, and files of slots.

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <utility>

#include "weft/api/await_result.h"
#include "weft/api/forms.h"
#include "weft/api/generation_fields.h"
#include "weft/api/json_text.h"
#include "weft/api/query.h"
#include "weft/base/json_string.h"
#include "weft/native/endpoints.h"

#include "file_name.h"
#include "slot_folder.h"

namespace weft::api::native {
namespace {

Engine& engine_of(const ApiCall& call) {
  if (!call.model->engine) throw not_supported("the model has no slots");
  return *call.model->engine;
}

std::string slot_json(const SlotState& slot, std::int64_t context) {
  return JsonObject()
      .add("id", slot.slot)
      .add("n_ctx", context)
      .add("is_processing", slot.busy)
      .add("id_task", slot.request)
      .add("n_held", slot.n_held)
      .add("n_prompt_tokens", slot.n_prompt)
      .add("why_not_reused", slot.why_not_reused)
      .add_json("params", "{}")
      .add_json("next_token",
                JsonObject().add("has_next_token", slot.busy).add("n_decoded", slot.n_new).str())
      .str();
}

void list_slots(const ApiCall& call) {
  if (!call.model) return call.reply("[]");
  const Engine& engine = engine_of(call);
  const EngineState state = engine.state();
  const bool none_free = std::ranges::all_of(state.slots, &SlotState::busy);
  const std::string fail = query_value(call.request(), "fail_on_no_slot");
  if (none_free && !fail.empty() && fail != "0") throw unavailable("no slot is free");
  const std::string viewer = call.owner(query_value(call.request(), "cache_salt"));
  JsonArray list;
  for (const SlotState& slot : state.slots)
    list.add_json(slot_json(slot.seen_by(viewer), engine.context()));
  call.reply(list.str());
}

struct ActionRequest {
  std::optional<std::string> filename;
  std::string cache_salt;
};

const Fields<ActionRequest>& action_fields() {
  static const auto table =
      Fields<ActionRequest>()
          .add("filename", &ActionRequest::filename, text(),
               "Name of the file to save or restore, without folders.")
          .add("cache_salt", &ActionRequest::cache_salt, cache_salt_form(),
               "The cache_salt of the requests whose text the slot holds, or is to hold.");
  return table;
}

struct Action {
  std::int32_t slot = 0;
  std::string filename, folder, path;
  std::string owner;  // whose text the slot holds
};

std::int32_t slot_number(const ApiCall& call) {
  const std::string& text = call.parameter;
  std::int32_t slot = -1;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), slot).ptr;
  if (end != text.data() + text.size() || slot < 0 || slot >= engine_of(call).n_slots())
    throw bad_request("id_slot", fmt::format("no slot {}: there are {}", json_string(text),
                                             engine_of(call).n_slots()));
  return slot;
}

Action file_action(const ApiCall& call, const SlotFolder& folders) {
  const ActionRequest request = action_fields().read(*call.body);
  const std::string folder = folders.of(call, request.cache_salt);
  const Path root;
  const Path path = root.member("filename");
  if (!request.filename) refuse(path, "is required");
  if (!is_plain_file_name(*request.filename))
    refuse(path, "must be a plain file name, without folders");
  return {slot_number(call), *request.filename, folder,
          (std::filesystem::path(folder) / *request.filename).string(),
          call.owner(request.cache_salt)};
}

JsonObject head(const Action& action) {
  return JsonObject().add("id_slot", action.slot).add("filename", action.filename);
}

std::string timings(std::string_view name, Clock::time_point start) {
  return JsonObject().add(name, seconds_since(start) * 1000).str();
}

void save(const std::shared_ptr<ApiCall>& call, const Action& action, const SlotFolder& folders) {
  const auto start = Clock::now();
  // Slots are saved one after the other, so that each counts those before it.
  auto make_room = [folders, client = folders.of_client(*call), path = action.path] {
    folders.make_room(client, path);
  };
  when_ready(
      call,
      engine_of(*call).save_slot(action.slot, action.path, action.owner, std::move(make_room)),
      [call, action, start](const Engine::SlotFile& file) {
        call->reply(head(action)
                        .add("n_saved", file.n_tokens)
                        .add("n_written", file.n_bytes)
                        .add_json("timings", timings("save_ms", start))
                        .str());
      },
      {}, action.folder);
}

void restore(const std::shared_ptr<ApiCall>& call, const Action& action) {
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(action.path)))
    throw not_found(fmt::format("no slot was saved as {}", json_string(action.filename)));
  const auto start = Clock::now();
  when_ready(
      call, engine_of(*call).restore_slot(action.slot, action.path, action.owner),
      [call, action, start](const Engine::SlotFile& file) {
        call->reply(head(action)
                        .add("n_restored", file.n_tokens)
                        .add("n_read", file.n_bytes)
                        .add_json("timings", timings("restore_ms", start))
                        .str());
      },
      {}, action.folder);
}

void erase(const std::shared_ptr<ApiCall>& call) {
  const std::int32_t slot = slot_number(*call);
  const ActionRequest request = action_fields().read(*call->body);
  when_ready(call, engine_of(*call).erase_slot(slot, call->owner(request.cache_salt)),
             [call, slot](std::int64_t n_erased) {
               call->reply(JsonObject().add("id_slot", slot).add("n_erased", n_erased).str());
             });
}

void act(const std::shared_ptr<ApiCall>& call, const SlotFolder& folders) {
  const std::string action = query_value(call->request(), "action");
  if (action == "save") return save(call, file_action(*call, folders), folders);
  if (action == "restore") return restore(call, file_action(*call, folders));
  if (action == "erase") return erase(call);
  throw bad_request("action", fmt::format("expected \"save\", \"restore\" or \"erase\", got {}",
                                          json_string(action.substr(0, 60))));
}

}  // namespace

bool is_plain_file_name(std::string_view name) {
  constexpr std::size_t kMaxName = 200;
  if (name.empty() || name.size() > kMaxName || name == "." || name == "..") return false;
  // A NUL of the request became U+FFFD.
  if (name.find("\xEF\xBF\xBD") != name.npos) return false;
  return std::ranges::none_of(
      name, [](char c) { return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20; });
}

std::vector<Endpoint> slot_endpoints(const NativeOptions& options) {
  Endpoint list =
      plain_endpoint("GET", "/slots", "listSlots", "Contents and activity of the slots",
                     [on = options.slots](const std::shared_ptr<ApiCall>& call) {
                       if (!on)
                         throw not_supported("the list of slots is switched off: --no-slots");
                       list_slots(*call);
                     });
  list.model = ModelUse::loaded;
  Endpoint action = post_endpoint(
      "/slots/{id}", "slotAction", "Saves, restores or erases a slot: ?action=",
      [folders = SlotFolder(options.slot_save_path, options.slot_quota)](
          const std::shared_ptr<ApiCall>& call) { act(call, folders); },
      action_fields());
  action.body_optional = true;
  return {list, action};
}

}  // namespace weft::api::native
