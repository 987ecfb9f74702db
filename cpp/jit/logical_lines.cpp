#include "jit/logical_lines.h"

#include <algorithm>

#include "base/concat.h"

namespace gpuos::jit {
namespace {

std::string joined(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  while (!source.empty()) {
    const std::size_t end = std::min(source.find('\n'), source.size());
    const std::string_view line = source.substr(0, end);
    source.remove_prefix(std::min(end + 1, source.size()));
    const std::size_t last = line.find_last_not_of(kBlank);
    if (last != line.npos && line[last] == '\\') {
      text += line.substr(0, last);
    } else {
      text += line;
      text += '\n';
    }
  }
  return text;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_';
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {
    out_.reserve(text.size());
  }

  std::optional<std::string> run() {
    while (at_ < text_.size() && is_good_) step();
    if (!is_good_) return std::nullopt;
    return std::move(out_);
  }

 private:
  // Returns whether a comment or a literal may begin with `c`.
  static bool begins(char c) { return c == '/' || c == '"' || c == '\''; }

  bool sees(char first, char second) const {
    return text_[at_] == first && at_ + 1 < text_.size() &&
           text_[at_ + 1] == second;
  }

  void step() {
    const std::string_view rest = text_.substr(at_);
    const auto plain = static_cast<std::size_t>(
        std::ranges::find_if(rest, begins) - rest.begin());
    out_ += rest.substr(0, plain);
    at_ += plain;
    if (at_ < text_.size()) begin();
  }

  void begin() {
    if (sees('/', '/')) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (sees('/', '*')) {
      const std::size_t end = text_.find("*/", at_ + 2);
      is_good_ = end != text_.npos;
      out_ += ' ';
      at_ = end + 2;
    } else if (text_[at_] == '"' && is_raw()) {
      raw_string();
    } else if (text_[at_] == '"' || (text_[at_] == '\'' && !is_separator())) {
      literal(text_[at_]);
    } else {
      out_ += text_[at_++];
    }
  }

  // Behind R, LR, uR, UR or u8R, and not behind a longer word.
  bool is_raw() const {
    std::size_t begin = at_;
    while (begin > 0 && is_word(text_[begin - 1])) --begin;
    const std::string_view prefix = text_.substr(begin, at_ - begin);
    return prefix == "R" || prefix == "LR" || prefix == "uR" ||
           prefix == "UR" || prefix == "u8R";
  }

  // 1'000
  bool is_separator() const { return at_ > 0 && is_word(text_[at_ - 1]); }

  void raw_string() {
    const std::size_t open = text_.find('(', at_);
    if (open == text_.npos) {
      is_good_ = false;
      return;
    }
    const std::string close =
        concat(")", text_.substr(at_ + 1, open - at_ - 1), "\"");
    const std::size_t end = text_.find(close, open);
    is_good_ = end != text_.npos;
    // Its lines are no directives.
    out_ += "\"\"";
    at_ = end + close.size();
  }

  // To its end or the end of the line: an apostrophe may stand in an #error.
  void literal(char quote) {
    out_ += text_[at_++];
    while (at_ < text_.size() && text_[at_] != '\n') {
      const char c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n')
        out_ += text_[at_++];
      out_ += text_[at_++];
      if (c == quote) return;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
  bool is_good_ = true;
};

}  // namespace

std::optional<std::string> logical_lines(std::string_view source) {
  const std::string text = joined(source);
  return Scanner(text).run();
}

}  // namespace gpuos::jit
