#include "writer.h"

#include <algorithm>

#include "weft/api/answer_parts.h"
#include "weft/api/json_text.h"
#include "weft/base/json_string.h"

namespace weft::api::anthropic {
namespace {

// Each token of the prompt counts once. Those that were computed up to the client's last mark count
// as written to the cache; parts that moved are taken to be before it.
std::string usage(const PromptDone& prompt, std::int64_t n_marked, const ChoiceEnd& end = {}) {
  const std::int64_t n_written = std::max<std::int64_t>(0, n_marked - prompt.n_reused);
  JsonObject json;
  json.add("input_tokens", prompt.n_prompt - prompt.n_reused - n_written)
      .add("cache_creation_input_tokens", n_written)
      .add("cache_read_input_tokens", prompt.n_reused);
  if (prompt.n_moved > 0) json.add("cache_moved_input_tokens", prompt.n_moved);
  json.add("output_tokens", end.n_tokens);
  if (end.n_dropped > 0) json.add("dropped_tokens", end.n_dropped);
  return json.str();
}

std::string_view stop_reason(const ChoiceEnd& end) {
  if (end.reason == ChoiceEnd::Reason::calls) return "tool_use";
  if (end.reason != ChoiceEnd::Reason::stop) return "max_tokens";
  return end.stop == StopReason::stop_string ? "stop_sequence" : "end_turn";
}

// The members stop_reason and stop_sequence, without braces.
std::string stop_members(const ChoiceEnd& end) {
  const bool at_string = end.reason == ChoiceEnd::Reason::stop && !end.stop_string.empty();
  return fmt::format(R"("stop_reason":{},"stop_sequence":{})", json_string(stop_reason(end)),
                     at_string ? json_string(end.stop_string) : "null");
}

}  // namespace

Writer::Writer(std::shared_ptr<ApiCall> call, bool stream, std::int64_t n_marked)
    : call_(std::move(call)),
      stream_(stream ? std::make_unique<EventStream>(call_) : nullptr),
      id_(new_id("msg_")),
      n_marked_(n_marked) {}

std::string Writer::message(std::string_view content, std::string_view stop,
                            std::string_view usage) const {
  return fmt::format(
      R"({{"id":{},"type":"message","role":"assistant","model":{},"content":{},{},"usage":{}}})",
      json_string(id_), json_string(call_->model->name), content, stop, usage);
}

void Writer::send(std::string_view type, const std::string& data) {
  if (stream_) stream_->send(data, type);
}

void Writer::on_prompt(int, const PromptDone& done) {
  prompt_ = done;
  if (!stream_) return;
  send("message_start",
       JsonObject()
           .add("type", "message_start")
           .add_json("message", message("[]", R"("stop_reason":null,"stop_sequence":null)",
                                        usage(prompt_, n_marked_)))
           .str());
}

void Writer::on_delta(int, const TextDelta& delta) {
  take(delta.events);
}

void Writer::on_content(const std::string& text) {
  append(BlockKind::text, text);
}

void Writer::on_reasoning(const std::string& text) {
  append(BlockKind::thinking, text);
}

void Writer::on_call(int, const std::string& id, const std::string& name) {
  close(true);
  call_id_ = id;
  call_name_ = name;
  open(BlockKind::tool_use);
}

void Writer::on_arguments(int, const std::string& text) {
  append(BlockKind::tool_use, text);
}

void Writer::on_call_end(int) {
  close(true);
}

void Writer::open(BlockKind kind) {
  kind_ = kind;
  ++index_;
  text_.clear();
  const std::string_view empty = kind == BlockKind::tool_use ? "{}" : R"("")";
  send("content_block_start", JsonObject()
                                  .add("type", "content_block_start")
                                  .add("index", index_)
                                  .add_json("content_block", block(empty))
                                  .str());
}

// The open block with this content: a JSON value.
std::string Writer::block(std::string_view content) const {
  switch (kind_) {
    case BlockKind::thinking:
      return fmt::format(R"({{"type":"thinking","thinking":{},"signature":""}})", content);
    case BlockKind::text:
      return fmt::format(R"({{"type":"text","text":{}}})", content);
    default:
      return fmt::format(R"({{"type":"tool_use","id":{},"name":{},"input":{}}})",
                         json_string(call_id_), json_string(call_name_), content);
  }
}

void Writer::append(BlockKind kind, const std::string& text) {
  if (text.empty()) return;
  if (kind_ != kind) {
    close(true);
    open(kind);
  }
  if (!stream_) {
    text_ += text;
    return;
  }
  const auto [type, member] = kind == BlockKind::text ? std::pair("text_delta", "text")
                              : kind == BlockKind::thinking
                                  ? std::pair("thinking_delta", "thinking")
                                  : std::pair("input_json_delta", "partial_json");
  send("content_block_delta",
       fmt::format(R"({{"type":"content_block_delta","index":{},"delta":{{"type":"{}","{}":{}}}}})",
                   index_, type, member, json_string(text)));
}

void Writer::close(bool whole) {
  if (kind_ == BlockKind::none) return;
  if (stream_) {
    send("content_block_stop",
         JsonObject().add("type", "content_block_stop").add("index", index_).str());
  } else if (kind_ != BlockKind::tool_use) {
    blocks_.push_back(block(json_string(text_)));
  } else if (whole) {
    // A client would take truncated arguments for those of a complete call, so they are left out.
    blocks_.push_back(block(text_.empty() ? "{}" : text_));
  }
  kind_ = BlockKind::none;
}

void Writer::on_end(int, const ChoiceEnd& end) {
  end_ = end;
  close(false);
}

void Writer::on_done(const RunTotals&) {
  if (!stream_) {
    JsonArray content;
    for (const std::string& block : blocks_) content.add_json(block);
    call_->reply(message(content.str(), stop_members(end_), usage(prompt_, n_marked_, end_)));
    return;
  }
  send("message_delta", fmt::format(R"({{"type":"message_delta","delta":{{{}}},"usage":{}}})",
                                    stop_members(end_), usage(prompt_, n_marked_, end_)));
  send("message_stop", R"({"type":"message_stop"})");
  stream_->end();
}

void Writer::on_error(const ApiError& error) {
  answer_error(*call_, stream_.get(), error);
}

}  // namespace weft::api::anthropic
