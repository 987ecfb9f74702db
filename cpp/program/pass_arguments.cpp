#include "program/pass_arguments.h"

#include <algorithm>
#include <set>
#include <vector>

#include "program/task.h"

namespace gpuos::program {
namespace {

std::size_t operand_count(const Step& step) {
  if (step.kind == Step::Kind::Compute) return info_of(step.op).operands;
  const bool is_leaf =
      step.kind == Step::Kind::Load || step.kind == Step::Kind::Scalar;
  return is_leaf ? 0 : 1;
}

bool is_literal(const ScalarWord& word, const Graph& graph) {
  return !word.is_extent &&
         graph.scalars[word.source].kind == ScalarSource::Kind::Literal;
}

/// The accesses and numbers that a step needs.
struct Needs {
  std::set<std::uint32_t> arguments;
  std::set<std::uint32_t> literals;

  bool are_few() const {
    return arguments.size() < kMaxPassArguments &&
           literals.size() < kMaxConstants / 2;
  }
  std::size_t count() const { return arguments.size() + literals.size(); }
};

Needs needs_of(const Pass& pass, const Graph& graph, const Step& step,
               const std::vector<Needs>& before) {
  Needs needs;
  if (step.kind == Step::Kind::Load) {
    needs.arguments.insert(step.index);
  } else if (step.kind == Step::Kind::Scalar) {
    const auto number =
        static_cast<std::uint32_t>(pass.accesses.size()) + step.index;
    auto& words = is_literal(pass.scalars[step.index], graph) ? needs.literals
                                                              : needs.arguments;
    words.insert(number);
    if (step.dtype == DType::Complex128) words.insert(number + 1);
  }
  for (std::size_t k = 0; k < operand_count(step); ++k) {
    const Needs& operand = before[step.operands[k]];
    needs.arguments.insert(operand.arguments.begin(), operand.arguments.end());
    needs.literals.insert(operand.literals.begin(), operand.literals.end());
  }
  return needs;
}

}  // namespace

bool fits_task(const Pass& pass, const Graph& graph) {
  const auto literals = static_cast<std::size_t>(std::ranges::count_if(
      pass.scalars,
      [&](const ScalarWord& word) { return is_literal(word, graph); }));
  const std::size_t all = pass.accesses.size() + pass.scalars.size();
  return pass.scalars.size() <= kMaxConstants &&
         all - literals <= kMaxPassArguments;
}

std::optional<std::uint32_t> step_to_store(const Pass& pass,
                                           const Graph& graph) {
  std::vector<Needs> needs;
  for (const Step& step : pass.steps) {
    needs.push_back(needs_of(pass, graph, step, needs));
    if (needs.back().are_few()) continue;
    // The first that needs many: its operands need few.
    const auto operands = std::span(step.operands).first(operand_count(step));
    return *std::ranges::max_element(
        operands, {}, [&](std::uint32_t id) { return needs[id].count(); });
  }
  return {};
}

void make_constants(Pass& pass, const Graph& graph) {
  if (pass.accesses.size() + pass.scalars.size() <= kMaxPassArguments) return;
  std::vector<ScalarWord> scalars;
  std::vector<std::uint32_t> number(pass.scalars.size());
  for (std::size_t i = 0; i < pass.scalars.size(); ++i) {
    if (is_literal(pass.scalars[i], graph)) continue;
    number[i] = static_cast<std::uint32_t>(scalars.size());
    scalars.push_back(pass.scalars[i]);
  }
  for (std::size_t i = 0; i < pass.scalars.size(); ++i) {
    const ScalarWord& word = pass.scalars[i];
    if (!is_literal(word, graph)) continue;
    number[i] =
        static_cast<std::uint32_t>(scalars.size() + pass.constants.size());
    pass.constants.push_back(
        scalar_bits(*graph.scalars[word.source].literal, word));
  }
  pass.scalars = std::move(scalars);
  for (Step& step : pass.steps)
    if (step.kind == Step::Kind::Scalar) step.index = number[step.index];
}

}  // namespace gpuos::program
