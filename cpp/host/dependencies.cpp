#include "host/dependencies.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/c_text.h"
#include "base/concat.h"
#include "jit/headers/source_inputs.h"

namespace gpuos::host {
namespace {

/// Returns the words after the first colon. A backslash escapes the next
/// character, and continues a line at its end.
std::vector<std::string> words_of_rule(std::string_view rule) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (std::size_t i = 0; i < rule.size(); ++i) {
    const char next = i + 1 < rule.size() ? rule[i + 1] : ' ';
    const bool is_escape =
        (rule[i] == '\\' && (next == ' ' || next == '#' || next == '\\')) ||
        (rule[i] == '$' && next == '$');
    const bool is_space = rule[i] == ' ' || rule[i] == '\n' ||
                          rule[i] == '\t' || (rule[i] == '\\' && next == '\n');
    if (is_escape) ++i;
    if (is_space)
      end_word();
    else
      word += rule[i];
  }
  end_word();
  return words;
}

std::optional<std::string> state_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return concat(status.st_size, " ", status.st_mtim.tv_sec, ".",
                status.st_mtim.tv_nsec);
}

}  // namespace

std::string dependencies_from(std::string_view rule,
                              std::string_view own_folder) {
  std::vector<std::string> words = words_of_rule(rule);
  if (words.empty() || !words[0].ends_with(':')) return "";
  std::string all = "\n";
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& path = words[i];
    if (path.starts_with(concat(own_folder, "/"))) continue;
    const auto state = state_of(path);
    if (path[0] != '/' || path.find('\n') != std::string::npos || !state)
      return "";
    all += concat(*state, " ", path, "\n");
  }
  return all;
}

bool are_unchanged(std::string_view dependencies) {
  if (dependencies.empty() || dependencies.back() != '\n') return false;
  dependencies.remove_prefix(1);
  while (!dependencies.empty()) {
    const std::string_view line = cut_until(dependencies, '\n');
    const std::size_t path = line.find(" /");
    if (path == std::string_view::npos) return false;
    const auto state = state_of(std::string(line.substr(path + 1)));
    if (!state || *state != line.substr(0, path)) return false;
  }
  return true;
}

bool has_hidden_inputs(std::string_view source) {
  constexpr std::array<std::string_view, 3> kWords{"incbin", "__has_include",
                                                   "embed"};
  return jit::names_clock(source) ||
         std::ranges::any_of(kWords, [&](std::string_view word) {
           return source.find(word) != std::string_view::npos;
         });
}

}  // namespace gpuos::host
