// Cells of a session, up to the texts for its compiler. A zero byte ends a
// cell.
#include "gpuos/error.h"
#include "session/cells/launch_syntax.h"
#include "session/device/compiling.h"
#include "session/device/evaluator.h"
#include "target.h"

namespace gpuos::session {
namespace {

using fuzz::expect;

void check_tokens(const CellText& cell) {
  std::size_t behind = 0;
  for (const Token& token : tokenize(cell)) {
    expect(!token.text.empty() && token.offset >= behind,
           "tokens follow each other");
    behind = token.offset + token.text.size();
    expect(behind <= cell.text.size() &&
               token.text.data() == cell.text.data() + token.offset,
           "a token is a part of its cell");
  }
}

void check_launch(const Item& item, const std::string& cell) {
  try {
    const LaunchStatement launch = parse_launch(item, cell);
    expect(launch.config.size() >= 2 && launch.config.size() <= 4,
           "a launch has a grid and a block");
    for (const LaunchExpression& argument : launch.arguments)
      literal(argument.text);
  } catch (const CompileError&) {
  }
}

void take(const Item& item, const std::string& cell, Header& header,
          Journal& journal) {
  expect(item.line >= 1 && item.column >= 1, "an item has a place");
  expect(
      qualifier_of(item.scopes).find_first_of("/\\\n\t\"") == std::string::npos,
      "a qualifier is made of names");
  for (const Item& statement : item.statements) check_launch(statement, cell);
  if (item.kind == ItemKind::Launch) check_launch(item, cell);
  header.put(item, cell, journal);
  if (item.kind != ItemKind::Function && item.kind != ItemKind::Kernel &&
      item.kind != ItemKind::Variable)
    return;
  const CompileJob job = make_job(item, cell, header);
  expect(job.sources.size() == (item.kind == ItemKind::Variable ? 2u : 1u),
         "a definition has its sources");
}

/// Any part of an #if, or none, without a compiler to ask.
std::size_t some_part(const Conditional& conditional) {
  expect(!conditional.lines.empty(), "a conditional has parts");
  return conditional.lines.back().text.size() % (conditional.lines.size() + 1);
}

void run(const CellText& cell, Header& header) {
  Journal journal;
  try {
    check_tokens(cell);
    for (const Item& item : split_cell(cell, some_part))
      take(item, cell.name, header, journal);
  } catch (const CompileError& error) {
    expect(error.place().line >= 1 && error.place().column >= 1,
           "an error has a place");
    journal.roll_back();
  }
}

}  // namespace
}  // namespace gpuos::session

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  gpuos::session::Header header;
  for (const std::string& text :
       gpuos::fuzz::parts_of(gpuos::fuzz::text_of(data, size)))
    gpuos::session::run({"cell 1", text}, header);
  return 0;
}
