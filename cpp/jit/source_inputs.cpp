#include "jit/source_inputs.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/c_text.h"
#include "base/concat.h"
#include "base/embedded.h"
#include "jit/standard_headers.h"

namespace gpuos::jit {
namespace {

using Names = std::vector<std::string>;

// A directive, which begins with '#' or "%:", token by token.
class Directive {
 public:
  explicit Directive(std::string_view line) {
    CScanner scanner(line, CScanner::Begin::InLine);
    for (CToken token = scanner.next(); token.kind != CTokenKind::End;
         token = scanner.next())
      tokens_.push_back(token);
    at_ = is(1, ":") ? 2 : 1;
  }

  // False: it cannot be told.
  bool add_to(Names& names) {
    const auto is_any = [&](std::string_view word) {
      return std::ranges::any_of(tokens_, [&](const CToken& token) {
        return token.text.starts_with(word);
      });
    };
    const std::string_view word = at_ < tokens_.size() ? tokens_[at_].text : "";
    if (word.starts_with("include")) {
      ++at_;
      const bool is_plain = word == "include" && add_name(names);
      return is_plain && at_ == tokens_.size();
    }
    if (word == "embed" || is_any("__has_embed")) return false;
    const bool is_condition =
        word.starts_with("if") || word.starts_with("elif");
    if (!is_condition && !is_any("__has_include")) return true;
    // A condition may ask by a macro for __has_include: each (<name>) and
    // ("name") counts. Only the compiler knows the name in (MACRO).
    for (bool asks = false; at_ < tokens_.size();) {
      const CToken& token = tokens_[at_++];
      if (token.is("(") && !add_name(names) && asks && is_condition)
        return false;
      asks = token.text.starts_with("__has_include");
    }
    return true;
  }

 private:
  bool is(std::size_t i, std::string_view text) const {
    return i < tokens_.size() && tokens_[i].is(text);
  }

  // Adds "name" or <name>. No compiler looks for comments and texts in <name>.
  bool add_name(Names& names) {
    if (at_ >= tokens_.size()) return false;
    const CToken& first = tokens_[at_];
    if (first.kind == CTokenKind::Text && first.text.front() == '"') {
      const std::string_view name = first.text.substr(1, first.text.size() - 2);
      if (!first.suffix.empty() || name.find('"') != name.npos) return false;
      names.emplace_back(name);
      ++at_;
      return true;
    }
    if (!first.is("<")) return false;
    std::string name;
    for (std::size_t i = at_ + 1; i < tokens_.size(); ++i) {
      const CToken& token = tokens_[i];
      const CToken& before = tokens_[i - 1];
      if (before.text.end() != token.text.begin() ||
          token.kind == CTokenKind::Text)
        return false;
      if (token.is(">")) {
        names.push_back(std::move(name));
        at_ = i + 1;
        return true;
      }
      name += token.text;
    }
    return false;
  }

  std::vector<CToken> tokens_;
  std::size_t at_;
};

}  // namespace

bool names_clock(std::string_view source) {
  constexpr std::array<std::string_view, 3> kClocks{"__DATE__", "__TIME__",
                                                    "__TIMESTAMP__"};
  return std::ranges::any_of(kClocks, [&](std::string_view clock) {
    return source.find(clock) != source.npos;
  });
}

bool is_embedded(std::string_view name) {
  static const auto* const names = new std::unordered_set<std::string>([] {
    std::unordered_set<std::string> all;
    for (const EmbeddedFile& file : embedded_files()) {
      all.emplace(file.name);
      all.insert(concat("gpuos/", file.name));
    }
    for (const StandardHeader& header : standard_headers())
      all.emplace(header.name);
    return all;
  }());
  return names->contains(std::string(name));
}

std::optional<Names> includes_of(std::string_view source) {
  if (names_clock(source)) return std::nullopt;
  Names names;
  const bool has_joined = source.find('\\') != source.npos;
  const std::string joined = has_joined ? join_lines(source) : "";
  CScanner scanner(has_joined ? joined : source);
  for (CToken token = scanner.next(); token.kind != CTokenKind::End;
       token = scanner.next()) {
    const bool is_open = token.kind == CTokenKind::OpenComment ||
                         token.kind == CTokenKind::OpenRaw;
    if (is_open || (token.kind == CTokenKind::Directive &&
                    !Directive(token.text).add_to(names)))
      return std::nullopt;
  }
  return names;
}

bool stands_alone(std::string_view source) {
  const auto names = includes_of(source);
  return names && std::ranges::all_of(*names, is_embedded);
}

}  // namespace gpuos::jit
