#include "session/cells/launch_syntax.h"

#include "base/concat.h"
#include "session/cells/pieces.h"

namespace gpuos::session {
namespace {

class Parser {
 public:
  explicit Parser(const CellText& cell) : tokens_(cell) {}

  LaunchStatement run() {
    LaunchStatement statement;
    const std::size_t open = find("<<<");
    const std::size_t close = find(">>>", open);
    if (close == tokens_.size() || !tokens_.is(close + 1, "("))
      tokens_.fail(open, "expected kernel<<<grid, block>>>(arguments);");
    for (std::size_t i = 0; i < open; ++i) statement.kernel += tokens_[i].text;
    statement.config = split(open + 1, close);
    if (statement.config.size() < 2 || statement.config.size() > 4)
      tokens_.fail(open, concat("expected <<<grid, block>>>, then shared bytes "
                                "and a stream if wanted, got ",
                                statement.config.size(), " values"));
    const std::size_t end = tokens_.behind(close + 1);
    statement.arguments = split(close + 2, end - 1);
    if (!tokens_.is(end, ";"))
      tokens_.fail(end, "expected ';' after the launch");
    return statement;
  }

 private:
  std::size_t find(std::string_view text, std::size_t from = 0) const {
    std::size_t i = from;
    while (i < tokens_.size() && !tokens_.is(i, text)) ++i;
    return i;
  }

  std::vector<LaunchExpression> split(std::size_t begin,
                                      std::size_t end) const {
    std::vector<LaunchExpression> found;
    const auto finish = [&](std::size_t at) {
      if (at == begin) tokens_.fail(at, "expected a value before this");
      const Token& first = tokens_[begin];
      found.push_back({tokens_.text(begin, at), first.line, first.column});
      begin = at + 1;
    };
    if (begin == end) return found;
    for (std::size_t i = begin; i < end;) {
      if (tokens_.is_any(i, "( [ {")) {
        i = tokens_.behind(i);
      } else if (tokens_.is(i, "<") && i > begin &&
                 tokens_.is_identifier(i - 1) && tokens_.behind_angles(i) > i &&
                 tokens_.behind_angles(i) <= end) {
        i = tokens_.behind_angles(i);
      } else {
        if (tokens_.is(i, ",")) finish(i);
        ++i;
      }
    }
    finish(end);
    return found;
  }

  TokenList tokens_;
};

}  // namespace

LaunchStatement parse_launch(const Item& item, const std::string& cell) {
  return Parser(at_place(cell, item.line, item.column, item.text)).run();
}

}  // namespace gpuos::session
