#include "common/peer_flags.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include <fmt/format.h>

#include "weft/base/error.h"

#include "common/program.h"

namespace weft::cli {
namespace {

// Whether a list "A,B" has the name.
bool lists(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == name) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

bool is_switch_value(std::string_view word) {
  return lists("on,off,auto,0,1,true,false,enabled,disabled", word);
}

bool switches_off(std::string_view word) {
  return lists("off,0,false,disabled", word);
}

// A flag of a program, as far as it is one word: "-n", "--predict".
std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find(' '));
}

class Reader {
 public:
  Reader(const std::vector<std::string>& words, const OwnFlags& own,
         std::vector<std::string>& notes)
      : words_(words), own_(own), notes_(notes) {}

  std::vector<std::string> read() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_];
      if (word == "--") break;
      if (word.size() < 2 || word.front() != '-' || !read_flag(word))
        kept_.push_back(words_[at_++]);
    }
    std::copy(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end(),
              std::back_inserter(kept_));
    check_contradictions();
    return std::move(kept_);
  }

 private:
  bool read_flag(const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    const bool has_value = name.size() < word.size();
    if (const int n = own_.n_values(name); n >= 0) {
      // CLI11 would read "-n=3" as the value "=3".
      const bool one_letter = name.size() == 2 && word.size() > 3;
      keep(name, word.substr(has_value && one_letter ? 3 : name.size()), n);
      return true;
    }
    if (const PeerFlag* row = find(name)) {
      take(*row, name, has_value ? word.substr(name.size() + 1) : "", has_value);
      return true;
    }
    if (word.starts_with("--") || !std::isalpha(static_cast<unsigned char>(word[1]))) return false;
    const int n = own_.n_values(word.substr(0, 2));
    // "-n64", "-s-1"
    const bool glued = n > 0 && word.size() > 2 &&
                       (std::isdigit(static_cast<unsigned char>(word[2])) != 0 ||
                        std::string_view("-+.").find(word[2]) != std::string_view::npos);
    if (glued)
      keep(word.substr(0, 2), word.substr(2), 1);
    else
      fail<UsageError>("unknown option {}", name);
    return true;
  }

  // A flag of the program, with a glued value or the words after it.
  void keep(const std::string& name, const std::string& glued, int n_values) {
    kept_.push_back(name + glued);
    ++at_;
    if (n_values == 1 && (!glued.empty() || at_ < words_.size()))
      given_.push_back({name, glued.empty() ? words_[at_] : glued.substr(glued[0] == '=' ? 1 : 0)});
    for (int i = glued.empty() ? 0 : n_values; i < n_values && at_ < words_.size(); ++i)
      kept_.push_back(words_[at_++]);
  }

  // Throws if a flag that means a value of another one comes with a different value of it.
  void check_contradictions() const {
    for (const Meant& meant : meant_)
      for (const Given& given : given_)
        if (given.name == meant.as.name && given.value != meant.as.value)
          fail<UsageError>("{} and {} {} contradict each other: {} means {} {}", meant.flag,
                           given.name, given.value, meant.flag, meant.as.name, meant.as.value);
  }

  const PeerFlag* find(std::string_view name) const {
    for (const PeerFlag& row : peer_flags()) {
      if (!lists(row.names, name)) continue;
      if (!row.programs.empty() && !lists(row.programs, own_.program)) continue;
      if (row.kind == PeerFlagKind::renamed && own_.n_values(std::string(first_word(row.text))) < 0)
        continue;
      return &row;
    }
    return nullptr;
  }

  void take(const PeerFlag& row, const std::string& name, const std::string& value,
            bool has_value) {
    if (row.kind == PeerFlagKind::refused) {
      refuse_unless_off(row, name, value, has_value);
      return;
    }
    if (has_value && row.values == 0) fail<UsageError>("{} takes no value, got '{}'", name, value);
    if (has_value && row.values == kSwitch && !is_switch_value(value))
      fail<UsageError>("{}: unknown value '{}' (known: on, off, auto)", name, value);
    ++at_;
    if (row.kind == PeerFlagKind::renamed) return rename(row, name, value, has_value);
    const bool takes_next = row.values == 1 || (row.values == kSwitch && at_ < words_.size() &&
                                                is_switch_value(words_[at_]));
    if (takes_next && !has_value) {
      if (at_ == words_.size()) fail<UsageError>("{} needs a value", name);
      ++at_;
    }
    if (row.kind == PeerFlagKind::ignored)
      notes_.push_back(fmt::format("unknown option {} is ignored ({})", name, row.text));
  }

  // Replaces a flag by words of the program; a switch that is off asks for nothing.
  void rename(const PeerFlag& row, const std::string& name, const std::string& value,
              bool has_value) {
    if (row.values == kSwitch) {
      const bool takes_next = !has_value && at_ < words_.size() && is_switch_value(words_[at_]);
      const std::string_view state = takes_next ? words_[at_++] : value;
      if (switches_off(state)) return;
    }
    const std::string_view own = first_word(row.text);
    kept_.emplace_back(own);
    if (own.size() < row.text.size()) {
      kept_.emplace_back(row.text.substr(own.size() + 1));
      meant_.push_back({name, {std::string(own), kept_.back()}});
    }
    if (row.values != 1) return;
    if (has_value)
      kept_.push_back(value);
    else if (at_ < words_.size())
      kept_.push_back(words_[at_++]);
  }

  // Skips a flag that asks for what the programs do without it.
  void refuse_unless_off(const PeerFlag& row, const std::string& name, const std::string& value,
                         bool has_value) {
    const bool has_next = !has_value && at_ + 1 < words_.size();
    if (row.values != kSwitch || !switches_off(has_next ? words_[at_ + 1] : value))
      fail<UsageError>("{} is not supported: {}", name, row.text);
    at_ += has_next ? 2 : 1;
  }

  const std::vector<std::string>& words_;
  const OwnFlags& own_;
  std::vector<std::string>& notes_;
  // A flag of the program with its value, and a flag of llama.cpp that means one.
  struct Given {
    std::string name, value;
  };
  struct Meant {
    std::string flag;
    Given as;
  };
  std::vector<Given> given_;
  std::vector<Meant> meant_;
  std::vector<std::string> kept_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::string> without_peer_flags(const std::vector<std::string>& arguments,
                                            const OwnFlags& own, std::vector<std::string>& notes) {
  return Reader(arguments, own, notes).read();
}

}  // namespace weft::cli
