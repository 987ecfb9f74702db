#include "program/graph/plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string_view>

#include "base/concat.h"
#include "device/interpreter/device_order.h"
#include "device/interpreter/text.h"
#include "gpuos/error.h"
#include "program/graph/joins.h"
#include "program/passes/pass_builder.h"
#include "program/passes/text.h"

namespace gpuos::program {
namespace {

/// The other values that a pass with a reduction computes.
enum class Company : std::uint8_t {
  All,      // operations around it, and other reductions
  Operand,  // its operand
  None
};

/// Splits a graph into passes.
class Scheduler {
 public:
  Scheduler(const Graph& graph, Dimensions& dims, Company company)
      : graph_(graph), dims_(dims), company_(company) {}

  Schedule run() {
    // Outputs of the same dimensions come out of one pass.
    std::map<std::vector<SetId>, std::vector<Root>> groups;
    for (std::uint32_t i = 0; i < graph_.outputs.size(); ++i)
      groups[dims_.of(graph_.outputs[i])].push_back(
          {graph_.outputs[i], {Buffer::Kind::Output, i}});
    for (const auto& [dims, roots] : groups) add_group(roots);
    return std::move(schedule_);
  }

 private:
  // Alone, a reduction has the inner axes that it needs.
  void add_group(const std::vector<Root>& roots) {
    std::vector<Root> together;
    for (const Root& root : roots) {
      if (!fuses() && is_reduction(graph_.nodes[root.node]))
        add_pass({root});
      else
        together.push_back(root);
    }
    if (!together.empty()) add_pass(together);
  }

  bool fuses() const { return company_ == Company::All; }

  void add_pass(const std::vector<Root>& roots) {
    // Values that are stored meanwhile may give the pass axes that others do
    // not fit.
    for (auto foreign = foreign_of(roots); !foreign.empty();
         foreign = foreign_of(roots))
      for (const std::uint32_t node : foreign) store(node);
    if (company_ == Company::None)
      for (const Root& root : roots) store_operand(graph_.nodes[root.node]);
    add_built(roots);
  }

  // If it does not fit into a task, a part is stored before.
  void add_built(const std::vector<Root>& roots) {
    PassBuilder builder(graph_, dims_, stored_);
    Pass pass = builder.build(roots);
    if (!fits_task(pass, graph_)) {
      if (roots.size() > 1) return add_halves(roots);
      if (const auto step = step_to_store(pass, graph_)) {
        store(builder.node_of(*step));
        return add_pass(roots);
      }
    }
    schedule_.passes.push_back(std::move(pass));
  }

  void add_halves(const std::vector<Root>& roots) {
    const auto middle = roots.begin() + static_cast<long>(roots.size() / 2);
    add_pass({roots.begin(), middle});
    add_pass({middle, roots.end()});
  }

  std::vector<std::uint32_t> foreign_of(const std::vector<Root>& roots) {
    if (fuses()) return PassBuilder(graph_, dims_, stored_).find_foreign(roots);
    std::vector<std::uint32_t> found;
    std::vector<bool> seen(graph_.nodes.size());
    for (const Root& root : roots) {
      const Node& node = graph_.nodes[root.node];
      // The pass of a reduction computes it, but none before it.
      find_reductions(is_reduction(node) ? node.operands[0] : root.node, seen,
                      found);
    }
    return found;
  }

  void find_reductions(std::uint32_t id, std::vector<bool>& seen,
                       std::vector<std::uint32_t>& found) {
    if (seen[id] || stored_.contains(id)) return;
    seen[id] = true;
    const Node& node = graph_.nodes[id];
    if (is_reduction(node)) {
      found.push_back(id);
      return;
    }
    const std::size_t operands = operand_count(node);
    for (std::size_t k = 0; k < operands; ++k)
      find_reductions(node.operands[k], seen, found);
  }

  void store_operand(const Node& node) {
    if (!is_reduction(node)) return;
    const Node& operand = graph_.nodes[node.operands[0]];
    if (info_of(operand.op).rule != OpRule::Leaf || operand.op == Op::Cast)
      store(node.operands[0]);
  }

  void store(std::uint32_t node) {
    if (stored_.contains(node)) return;
    const auto index = static_cast<std::uint32_t>(schedule_.temporaries.size());
    const Buffer buffer{Buffer::Kind::Temporary, index};
    schedule_.temporaries.push_back({graph_.nodes[node].dtype, dims_.of(node)});
    add_pass({{node, buffer}});
    stored_.emplace(node, buffer);
  }

  const Graph& graph_;
  Dimensions& dims_;
  Company company_;
  Stored stored_;
  Schedule schedule_;
};

std::size_t count_operations(const Graph& graph) {
  std::vector<bool> used(graph.nodes.size());
  for (const std::uint32_t output : graph.outputs) used[output] = true;
  std::size_t count = 0;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    if (!used[i]) continue;
    const Node& node = graph.nodes[i];
    for (std::size_t k = 0; k < info_of(node.op).operands; ++k)
      used[node.operands[k]] = true;
    const bool is_leaf = info_of(node.op).rule == OpRule::Leaf;
    count += !is_leaf || node.op == Op::Cast ? 1 : 0;
  }
  return count;
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// Appends numbers to a binary key, each as its bytes.
class Bytes {
 public:
  template <typename... Numbers>
  Bytes& add(Numbers... numbers) {
    (add_one(static_cast<std::uint32_t>(numbers)), ...);
    return *this;
  }
  void add_text(const std::string& text) { text_ += text; }
  std::string take() { return std::move(text_); }

 private:
  void add_one(std::uint32_t number) {
    text_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }

  std::string text_;
};

// Adds also the buffers, dimensions and scalars, which are not code.
void add_schedule(Bytes& bytes, const Schedule& schedule) {
  bytes.add(schedule.passes.size());
  for (const Pass& pass : schedule.passes) {
    bytes.add_text(pass.structure);
    bytes.add(pass.outer.size(), pass.inner.size());
    for (const SetId set : pass.outer) bytes.add(set);
    for (const SetId set : pass.inner) bytes.add(set);
    for (const BufferAccess& access : pass.accesses) {
      bytes.add(access.buffer.kind, access.buffer.index);
      for (const std::int8_t dim : access.dims) bytes.add(dim);
    }
    for (const ScalarWord& word : pass.scalars) {
      bytes.add(word.source, word.extent.size());
      for (const SetId set : word.extent) bytes.add(set);
    }
  }
}

void add_long(Bytes& bytes, std::int64_t number) {
  bytes.add(number, number >> 32);
}

void add_source(Bytes& bytes, const InputSource& source) {
  bytes.add(source.kind, source.from, source.axes.size());
  for (const AxisIndex& axis : source.axes) {
    bytes.add(axis.kind);
    for (const std::int64_t bound : {axis.start, axis.stop, axis.step})
      add_long(bytes, bound);
  }
  for (const std::uint8_t dim : source.dims) bytes.add(dim);
  for (const DimSet& set : source.whole) {
    bytes.add(set.size());
    for (const Dim& dim : set) bytes.add(dim.input, dim.dim);
  }
  bytes.add(source.shape.size());
  for (const std::int64_t extent : source.shape) add_long(bytes, extent);
}

std::uint64_t hash_of(const Plan& plan) {
  Bytes bytes;
  for (const ProgramArgument& input : plan.inputs)
    bytes.add(input.dtype, input.rank);
  for (const std::uint32_t input : plan.alike) bytes.add(input);
  for (const DimSet& set : plan.sets) {
    bytes.add(set.size());
    for (const Dim& dim : set) bytes.add(dim.input, dim.dim);
  }
  for (const InputSource& source : plan.sources) add_source(bytes, source);
  for (const ResultPiece& piece : plan.pieces) {
    bytes.add(piece.result, piece.parts.size());
    for (const ResultPiece::Part& part : piece.parts)
      bytes.add(part.dim, part.joined, part.part);
  }
  add_schedule(bytes, plan.fused);
  add_schedule(bytes, plan.split);
  return hash_of(bytes.take());
}

std::string structure_of(const Pass& pass) {
  Bytes bytes;
  bytes.add(pass.accesses.size(), pass.scalars.size(), pass.steps.size());
  for (const BufferAccess& access : pass.accesses)
    bytes.add(access.dtype, access.writes);
  for (const ScalarWord& word : pass.scalars) bytes.add(word.dtype);
  for (const std::uint64_t bits : pass.constants) bytes.add(bits, bits >> 32);
  for (const Step& step : pass.steps)
    bytes.add(step.kind, step.op, step.may_be_empty, step.dtype, step.from,
              step.index, step.operands[0], step.operands[1], step.operands[2]);
  for (const auto& part : pass.parts) {
    bytes.add(part.size());
    for (const std::uint32_t step : part) bytes.add(step);
  }
  return bytes.take();
}

/// Adds the constants of each pass, which are needed often.
Schedule complete(Schedule schedule, const Graph& graph) {
  for (Pass& pass : schedule.passes) make_constants(pass, graph);
  for (Pass& pass : schedule.passes) {
    pass.structure = structure_of(pass);
    pass.text = text_of(pass);
    pass.operations = static_cast<std::uint64_t>(
        std::ranges::count_if(pass.steps, [](const Step& step) {
          return step.kind == Step::Kind::Compute ||
                 step.kind == Step::Kind::Reduce;
        }));
  }
  return schedule;
}

/// Returns whether the interpreter has room for all lanes of a row, so that a
/// deterministic runtime may use it.
bool has_room(const Schedule& schedule) {
  constexpr std::uint32_t kMost = kCellBytes / 4 / kMostRowLanes;
  return std::ranges::all_of(schedule.passes, [](const Pass& pass) {
    return !pass.has_reduction ||
           std::bit_cast<TextHeader>(pass.text[0]).cells <= kMost;
  });
}

Schedule make_schedule(const Graph& graph, Dimensions& dims, Company company) {
  return complete(Scheduler(graph, dims, company).run(), graph);
}

/// Makes a schedule with each reduction in a separate pass.
Schedule make_split(const Graph& graph, Dimensions& dims) {
  Schedule schedule = make_schedule(graph, dims, Company::Operand);
  if (has_room(schedule)) return schedule;
  return make_schedule(graph, dims, Company::None);
}

bool has_reductions(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), is_reduction);
}

}  // namespace

void add_arguments(Plan& plan, const Graph& graph) {
  if (graph.inputs.size() > kMaxInputs)
    throw InvalidArgument(concat("build: expected at most ", kMaxInputs,
                                 " inputs and views of them, got ",
                                 graph.inputs.size()));
  plan.inputs = graph.inputs;
  plan.alike = graph.alike;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    if (graph.sources[i].kind == InputSource::Kind::Argument)
      plan.arguments.push_back(graph.inputs[i]);
  if (plan.arguments.size() != plan.inputs.size()) plan.sources = graph.sources;
}

std::shared_ptr<const Plan> make_plan(Graph& given) {
  if (given.outputs.empty())
    throw InvalidArgument("build: expected at least 1 output, got 0");
  const std::vector<std::uint32_t>& results = given.outputs;
  const Graph apart = given.joins.empty() ? Graph() : taken_apart(given);
  const Graph& graph = given.joins.empty() ? given : apart;
  given.asked.shapes |= apart.asked.shapes;
  auto plan = std::make_shared<Plan>();
  add_arguments(*plan, graph);
  plan->scalars = graph.scalars;
  plan->scalar_arguments = graph.scalar_arguments;
  Dimensions dims(graph);
  for (const std::uint32_t output : graph.outputs) {
    const Node& node = graph.nodes[output];
    plan->outputs.push_back({node.dtype, node.rank});
    plan->output_dims.push_back(dims.of(output));
  }
  for (const std::uint32_t result : results) {
    const Node& node = graph.nodes[result];
    plan->results.push_back({node.dtype, node.rank});
    plan->result_dims.push_back(dims.of(result));
  }
  plan->pieces = graph.pieces;
  plan->fused = make_schedule(graph, dims, Company::All);
  plan->split = has_reductions(graph) ? make_split(graph, dims) : plan->fused;
  plan->sets = dims.sets();
  plan->operations = count_operations(graph);
  plan->hash = hash_of(*plan);
  return plan;
}

}  // namespace gpuos::program

namespace gpuos {

namespace {

const program::Plan& plan_of(const std::shared_ptr<const program::Plan>& plan) {
  if (plan == nullptr)
    throw InvalidArgument(
        "Program: expected a built program, got an empty one");
  return *plan;
}

}  // namespace

Program ProgramBuilder::build() const {
  return Program(program::make_plan(*graph_));
}

const std::vector<ProgramArgument>& Program::inputs() const {
  return plan_of(plan_).arguments;
}

const std::vector<ProgramArgument>& Program::outputs() const {
  return plan_of(plan_).results;
}

std::size_t Program::scalars() const { return plan_of(plan_).scalar_arguments; }

std::size_t Program::operations() const { return plan_of(plan_).operations; }

std::uint64_t Program::hash() const { return plan_of(plan_).hash; }

}  // namespace gpuos
