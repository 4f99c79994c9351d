#include "writer.h"

#include "weft/api/answer_parts.h"

#include "request.h"
#include "response.h"

namespace weft::api::responses {
namespace {

std::string_view incomplete_reason(const ChoiceEnd& end) {
  if (end.reason == ChoiceEnd::Reason::cancelled) return "cancelled";
  return end.reason == ChoiceEnd::Reason::length ? "max_output_tokens" : "";
}

}  // namespace

Writer::Writer(std::shared_ptr<ApiCall> call, std::shared_ptr<const Response> response, Ended ended)
    : call_(std::move(call)), response_(std::move(response)), ended_(std::move(ended)) {
  if (response_->request->stream) stream_ = std::make_unique<EventStream>(call_);
}

Writer::~Writer() {
  ended({});  // the client has left
}

void Writer::ended(std::string json) {
  if (ended_) std::exchange(ended_, {})(std::move(json), answer_.whole_message());
}

void Writer::send(std::string_view type, JsonObject members) {
  if (!stream_) return;
  JsonObject event;
  event.add("type", type).add("sequence_number", number_++);
  const std::string rest = members.str();
  std::string data = event.str();
  if (rest.size() > 2) data = data.substr(0, data.size() - 1) + ',' + rest.substr(1);
  stream_->send(data, type);
}

JsonObject Writer::place() const {
  return JsonObject().add("item_id", id_).add("output_index", n_items_);
}
JsonObject Writer::part_place() const {
  return place().add("content_index", 0);
}

void Writer::on_prompt(int, const PromptDone&) {
  if (!stream_) return;
  const std::string json = response_json(*response_, {});
  for (const std::string_view type : {"response.created", "response.in_progress"})
    send(type, JsonObject().add_json("response", json));
}

void Writer::on_delta(int, const TextDelta& delta) {
  bool all_content = true;
  for (const ReplyEvent& event : delta.events)
    all_content = all_content && event.kind == ReplyEvent::Kind::content;
  if (all_content) append_rows(new_rows_, logprob_rows(delta.logprobs));
  answer_.take(delta.events);
  take(delta.events);
}

void Writer::on_content(const std::string& text) {
  append(ItemKind::message, text);
}

void Writer::on_reasoning(const std::string& text) {
  append(ItemKind::reasoning, text);
}

void Writer::on_call(int, const std::string& id, const std::string& name) {
  close(true);
  call_id_ = id;
  name_ = name;
  open(ItemKind::call);
}

void Writer::on_arguments(int, const std::string& text) {
  append(ItemKind::call, text);
}

void Writer::on_call_end(int) {
  close(true);
}

void Writer::open(ItemKind kind) {
  kind_ = kind;
  id_ = new_id(kind == ItemKind::message ? "msg_" : kind == ItemKind::call ? "fc_" : "rs_");
  text_.clear();
  all_rows_.clear();
  send("response.output_item.added",
       JsonObject().add("output_index", n_items_).add_json("item", item("in_progress")));
  if (kind != ItemKind::call)
    send("response.content_part.added", part_place().add_json("part", part()));
}

std::string Writer::part() const {
  if (kind_ == ItemKind::reasoning)
    return JsonObject().add("type", "reasoning_text").add("text", text_).str();
  return JsonObject()
      .add("type", "output_text")
      .add("text", text_)
      .add_json("annotations", "[]")
      .add_json("logprobs", fmt::format("[{}]", all_rows_))
      .str();
}

std::string Writer::item(std::string_view status) const {
  JsonObject json;
  json.add("id", id_);
  const std::string content = status == "in_progress" ? "[]" : fmt::format("[{}]", part());
  if (kind_ == ItemKind::call)
    return json.add("type", "function_call")
        .add("status", status)
        .add("arguments", text_)
        .add("call_id", call_id_)
        .add("name", name_)
        .str();
  if (kind_ == ItemKind::reasoning)
    return json.add("type", "reasoning")
        .add_json("summary", "[]")
        .add_json("content", content)
        .add_null("encrypted_content")
        .add("status", status)
        .str();
  return json.add("type", "message")
      .add("status", status)
      .add("role", "assistant")
      .add_json("content", content)
      .str();
}

std::string Writer::rows() {
  append_rows(all_rows_, new_rows_);
  return fmt::format("[{}]", std::exchange(new_rows_, {}));
}

void Writer::append(ItemKind kind, const std::string& text) {
  if (text.empty()) return;
  if (kind_ != kind) {
    close(true);
    open(kind);
  }
  text_ += text;
  if (kind == ItemKind::message)
    send("response.output_text.delta",
         part_place().add("delta", text).add_json("logprobs", rows()));
  else if (kind == ItemKind::reasoning)
    send("response.reasoning_text.delta", part_place().add("delta", text));
  else
    send("response.function_call_arguments.delta", place().add("delta", text));
}

void Writer::close(bool whole) {
  if (kind_ == ItemKind::none) return;
  if (kind_ == ItemKind::call) {
    send("response.function_call_arguments.done",
         place().add("name", name_).add("arguments", text_));
  } else {
    const bool message = kind_ == ItemKind::message;
    JsonObject done = part_place().add("text", text_);
    if (message) {
      rows();
      done.add_json("logprobs", fmt::format("[{}]", all_rows_));
    }
    send(message ? "response.output_text.done" : "response.reasoning_text.done", std::move(done));
    send("response.content_part.done", part_place().add_json("part", part()));
  }
  const std::string json = item(whole ? "completed" : "incomplete");
  send("response.output_item.done",
       JsonObject().add("output_index", n_items_).add_json("item", json));
  output_.add_json(json);
  ++n_items_;
  kind_ = ItemKind::none;
}

void Writer::on_end(int, const ChoiceEnd& end) {
  end_ = end;
  if (n_items_ == 0 && kind_ == ItemKind::none) open(ItemKind::message);  // an empty answer
  // A truncated text is incomplete; so is a truncated call.
  close(kind_ != ItemKind::call && incomplete_reason(end).empty());
}

void Writer::on_done(const RunTotals& totals) {
  const std::string_view reason = incomplete_reason(end_);
  const std::string_view status = reason.empty() ? "completed" : "incomplete";
  const std::string output = output_.str(), usage = response_usage(totals);
  std::string json = response_json(*response_, {status, reason, output, usage});
  // Before it is answered, so that the client can refer to it at once.
  ended(json);
  if (!stream_) {
    call_->reply(std::move(json));
    return;
  }
  send(fmt::format("response.{}", status), JsonObject().add_json("response", json));
  stream_->end();
}

void Writer::on_error(const ApiError& error) {
  ended({});
  answer_error(*call_, stream_.get(), error);
}

}  // namespace weft::api::responses
