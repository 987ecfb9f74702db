#include "jit/objects/ptx_text.h"

#include <charconv>
#include <cstddef>

#include "base/c_text.h"
#include "base/concat.h"

namespace gpuos::jit {
namespace {

// Returns names, numbers and single signs, without comments and quoted texts.
class PtxWords {
 public:
  explicit PtxWords(std::string_view text)
      : scanner_(text, CScanner::Begin::OfLine, "$%.") {}

  /// Returns the next word, or an empty one at the end.
  std::string_view next() {
    for (;;) {
      const CToken token = scanner_.next();
      if (token.kind < CTokenKind::Text || token.kind == CTokenKind::Punctuator)
        return token.text;
    }
  }

  /// Skips to after the sign that ends the part that `{` has begun.
  void skip_body() {
    for (std::size_t depth = 1; depth > 0;) {
      const std::string_view word = next();
      if (word.empty()) return;
      if (word == "{") ++depth;
      if (word == "}") --depth;
    }
  }

 private:
  CScanner scanner_;
};

std::size_t number(std::string_view digits) {
  std::size_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// Returns 32 of ".b32".
std::size_t bits_of(std::string_view type) {
  constexpr std::string_view kKinds = "bfsu";
  return type.size() < 3 || type[0] != '.' ||
                 kKinds.find(type[1]) == kKinds.npos
             ? 0
             : number(type.substr(2));
}

// Reads ".param .b32 a, .param .align 8 .b8 b[16])", after its "(".
std::string codes_of(PtxWords& words) {
  std::string codes;
  std::size_t bits = 0;
  std::size_t elements = 0;
  const auto finish = [&] {
    if (elements != 0)
      codes += concat("b", bits / 8 * elements);
    else if (bits != 0)
      codes += bits <= 32 ? "i" : bits == 64 ? "l" : "?";
    bits = elements = 0;
  };
  for (std::string_view word = words.next(); !word.empty();
       word = words.next()) {
    if (word == "[") elements = number(words.next());
    if (const std::size_t found = bits_of(word)) bits = found;
    if (word == "," || word == ")") finish();
    if (word == ")") break;
  }
  return codes;
}

// Reads the words after ".func" or ".entry".
PtxFunction function_of(PtxWords& words) {
  PtxFunction function;
  std::string result = "v";
  std::string_view word = words.next();
  if (word == "(") {
    result = codes_of(words);
    word = words.next();
  }
  function.name = word;
  word = words.next();
  std::string parameters;
  if (word == "(") {
    parameters = codes_of(words);
    word = words.next();
  }
  // Directives, such as .maxntid, come between the parameters and the body.
  while (!word.empty() && word != "{" && word != ";") word = words.next();
  function.is_defined = word == "{";
  if (function.is_defined) words.skip_body();
  function.signature = result + parameters;
  return function;
}

}  // namespace

PtxText read_ptx(std::string_view text) {
  PtxText found;
  PtxWords words(text);
  bool is_visible = false;
  bool has_version = false;
  for (std::string_view word = words.next(); !word.empty();
       word = words.next()) {
    constexpr std::string_view kTarget = "sm_";
    if (word == ".version") has_version = true;
    if (!has_version) return found;
    if (word == ".target" && found.architecture.empty()) {
      const std::string_view target = words.next();
      if (target.starts_with(kTarget))
        found.architecture = target.substr(kTarget.size());
    } else if (word == ".visible" || word == ".weak") {
      is_visible = true;
    } else if (word == ".func" || word == ".entry") {
      PtxFunction function = function_of(words);
      function.is_visible = is_visible;
      function.is_kernel = word == ".entry";
      found.functions.push_back(std::move(function));
      is_visible = false;
    } else if (word == "{") {
      words.skip_body();
    } else if (word == ";") {
      is_visible = false;
    }
  }
  return found;
}

}  // namespace gpuos::jit
