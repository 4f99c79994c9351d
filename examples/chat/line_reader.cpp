#include "chat/line_reader.h"

#include <iostream>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "weft/base/text.h"
#include "weft/base/text_file.h"

#include "common/program.h"

namespace weft::chat {
namespace {

constexpr const char* kPrompt = "> ";
constexpr const char* kMore = ". ";
constexpr const char* kFence = "\"\"\"";

}  // namespace

LineReader::LineReader() {
  if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) editor_ = std::make_unique<LineEditor>();
  if (editor_ && !editor_->usable()) editor_.reset();
}

LineReader::~LineReader() = default;

bool LineReader::interactive() const {
  return editor_ != nullptr;
}

std::optional<EditedLine> LineReader::line(const char* prompt) {
  std::string text;
  if (!editor_) {
    if (!std::getline(std::cin, text)) return std::nullopt;
    return EditedLine{std::string(without_byte_order_mark(without_line_end(text)))};
  }
  std::optional<EditedLine> line = editor_->edit(prompt);
  if (line) line->text = std::string(without_byte_order_mark(line->text));
  if (line || !cli::interrupted()) return line;
  dropped_ = true;
  cli::clear_interrupt();
  editor_->drop();
  return EditedLine{};
}

std::optional<std::string> LineReader::message() {
  for (;;) {
    dropped_ = false;
    if (editor_) cli::clear_interrupt();
    std::optional<EditedLine> first = line(kPrompt);
    if (!first) return std::nullopt;
    const bool begins_block = !first->begins_pasted && first->text.starts_with(kFence);
    std::string text = begins_block ? block(*first) : continued(std::move(*first));
    if (!dropped_) return text;
    std::cout << '\n' << std::flush;
    std::cerr << leave_hint();
  }
}

std::string LineReader::leave_hint() {
  return interactive() && !std::exchange(hinted_, true) ? "[Ctrl-D or /quit exits]\n" : "";
}

// The line, and those after it for as long as one ends with a backslash.
std::string LineReader::continued(EditedLine line) {
  std::string text = std::move(line.text);
  bool ends_pasted = line.ends_pasted;
  while (!dropped_ && !ends_pasted && text.ends_with('\\')) {
    text.back() = '\n';
    const auto more = this->line(kMore);
    if (!more) break;
    text += more->text;
    ends_pasted = more->ends_pasted;
  }
  return text;
}

// The text of a block that `line` began, up to the line that ends with the fence.
std::string LineReader::block(const EditedLine& line) {
  std::string text = line.text.substr(std::string_view(kFence).size());
  bool ends_pasted = line.ends_pasted;
  while (ends_pasted || !text.ends_with(kFence)) {
    const auto more = this->line(kMore);
    if (!more || dropped_) return text;
    text += (text.empty() ? "" : "\n") + more->text;
    ends_pasted = more->ends_pasted;
  }
  text.resize(text.size() - std::string_view(kFence).size());
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace weft::chat
