#include "program/passes/source.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/concat.h"
#include "program/passes/compute_type.h"
#include "program/passes/loop_cuts.h"
#include "program/passes/operations.h"
#include "program/passes/source_text.h"

namespace gpuos::program {
namespace {

/// Writes one pass.
class SourceWriter {
 public:
  SourceWriter(const Pass& pass, Effort effort, bool is_ordered)
      : pass_(pass),
        effort_(effort),
        is_ordered_(is_ordered && pass.has_reduction),
        is_row_(pass.steps.size(), false) {
    for (std::size_t part = 0; part < pass.parts.size(); part += 2)
      for (const std::uint32_t id : pass.parts[part]) is_row_[id] = true;
    for (std::uint32_t id = 0; id < pass.steps.size(); ++id)
      if (pass.steps[id].kind == Step::Kind::Reduce) is_row_[id] = true;
  }

  std::string write() {
    write_head();
    write_row_fields();
    write_column_fields();
    for (std::size_t part = 0; part < pass_.parts.size(); ++part) {
      if (part % 2 == 0) {
        write_row_part(part);
      } else {
        write_load(concat("load(Part<", part, ">, "), {part});
        write_gathered(part);
        write_loop_part(part);
      }
    }
    std::vector<std::size_t> loops;
    for (std::size_t part = 1; part < pass_.parts.size(); part += 2)
      loops.push_back(part);
    write_load("load_all(", loops);
    text_ += concat(
        "};\n}  // namespace\n}  // namespace program\n}  // namespace gpuos\n"
        "GPUOS_OPERATOR(",
        kCompiledName,
        ") {\n  gpuos::program::run<gpuos::program::Pass>(task, lane);\n}\n");
    return std::move(text_);
  }

 private:
  const Step& step(std::uint32_t id) const { return pass_.steps[id]; }

  template <typename... Parts>
  void line(const Parts&... parts) {
    text_ += concat(parts..., "\n");
  }

  // ---- The parts of the pass.

  void write_head() {
    NeededHeaders needs;
    for (const Step& each : pass_.steps)
      if (each.kind == Step::Kind::Compute)
        for (const Operation& operation : operations_of(each))
          needs.add(operation);
    // g++ merges conditions that are partly equal, and then does not vectorise
    // the loop.
    line(
        "#if defined(__GNUC__) && !defined(__clang__) && "
        "!defined(__CUDACC__)\n"
        "#pragma GCC optimize(\"no-tree-pre\")\n#endif");
    text_ += needs.includes();
    line(
        "#include \"gpuos/compiled/loops.h\"\n"
        "namespace gpuos {\nnamespace program {\nnamespace {\n"
        "struct Pass {");
    const Widths widths = widths_of(pass_, is_row_, effort_, is_ordered_);
    const std::uint32_t loads = column_accesses(Step::Kind::Load);
    line("  enum : u32 {\n    kAccesses = ", pass_.accesses.size(),
         ",\n    kScalars = ", pass_.scalars.size(),
         ",\n    kLoops = ", pass_.loops(),
         ",\n    kReduces = ", pass_.has_reduction ? 1 : 0,
         ",\n    kIsOrdered = ", is_ordered_ ? 1 : 0,
         ",\n    kWidth = ", widths.pack,
         ",\n    kScattered = ", widths.scattered,
         ",\n    // Bit a: loops read access a; or write it.\n    kLoads = ",
         loads,
         ",\n    kColumns = ", loads | column_accesses(Step::Kind::Store), ",");
    line("#if defined(__CUDACC__)\n    kElements = ", widths.elements,
         "\n#else\n    kElements = ", widths.host_elements, "\n#endif\n  };");
    std::uint64_t sizes = 0;
    std::uint32_t pairs = 0;
    for (std::size_t a = 0; a < pass_.accesses.size(); ++a) {
      const std::size_t bytes = size_of(pass_.accesses[a].dtype);
      const bool is_pair = bytes == 16;
      pairs |= static_cast<std::uint32_t>(is_pair) << a;
      sizes |= static_cast<std::uint64_t>(std::countr_zero(bytes) - is_pair)
               << 2 * a;
    }
    line(
        "  // Two bits an access, and one for twice as many bytes.\n"
        "  static GPUOS_DEVICE constexpr u32 bytes(u32 access) {\n"
        "    return 1u << (",
        sizes, "ull >> 2 * access & 3)",
        pairs == 0 ? "" : concat(" << (", pairs, "u >> access & 1)"), ";\n  }");
  }

  /// Returns the accesses of loops, a bit each.
  std::uint32_t column_accesses(Step::Kind kind) const {
    std::uint32_t accesses = 0;
    for (std::uint32_t id = 0; id < pass_.steps.size(); ++id)
      if (!is_row_[id] && step(id).kind == kind)
        accesses |= 1u << step(id).index;
    return accesses;
  }

  const char* value_type(std::uint32_t id) const {
    return type_name(step_type(step(id)));
  }

  std::string gathered_type(const Step& reduction) const {
    return concat(info_of_reduction(reduction.op), "<",
                  type_name(reduction_type(reduction)), ">");
  }

  void write_row_fields() {
    line("  template <u32 R>\n  struct Row {");
    for (std::uint32_t id = 0; id < pass_.steps.size(); ++id) {
      const Step& each = step(id);
      if (!is_row_[id] || each.kind == Step::Kind::Store) continue;
      line("    PerRow<", value_type(id), ", R> v", id, ";");
      if (each.kind == Step::Kind::Reduce)
        line("    Sums<", gathered_type(each), ", R> g", id, ";");
    }
    line("  };");
  }

  template <typename F>
  void each_column_load(const std::vector<std::size_t>& parts, F f) const {
    std::vector<bool> is_done(pass_.steps.size(), false);
    for (const std::size_t part : parts)
      for (const std::uint32_t id : pass_.parts[part]) {
        if (step(id).kind != Step::Kind::Load || is_row_[id] || is_done[id])
          continue;
        is_done[id] = true;
        f(id);
      }
  }

  void write_column_fields() {
    std::vector<std::size_t> loops;
    for (std::size_t part = 1; part < pass_.parts.size(); part += 2)
      loops.push_back(part);
    line("  template <u32 N>\n  struct Columns {");
    each_column_load(loops, [&](std::uint32_t id) {
      line("    Vector<", stored_name(step(id).dtype), ", N> x", id, ";");
    });
    line("  };");
  }

  void write_load(const std::string& head,
                  const std::vector<std::size_t>& parts) {
    line("  template <typename X, typename M>\n  static GPUOS_DEVICE void ",
         head, "X& x, const M& m) {");
    each_column_load(parts, [&](std::uint32_t id) {
      line("    m.template load<", step(id).index, ">(x.x", id, ");");
    });
    line("  }");
  }

  void write_gathered(std::size_t part) {
    line(
        "  template <typename R, typename F>\n"
        "  static GPUOS_DEVICE void each_gathered(Part<",
        part, ">, R& r, F&& f) {");
    for (const std::uint32_t id : pass_.parts[part])
      if (step(id).kind == Step::Kind::Reduce) line("    f(r.g", id, ");");
    line("  }");
  }

  // ---- The parts.

  /// Returns the name of an earlier step's value in a part.
  std::string operand(const Step& user, std::size_t k) const {
    const std::uint32_t id = user.operands[k];
    return is_row_[id] ? concat("r.v", id, "(w)") : concat("v", id);
  }

  /// An expression for a step's value, of step_type().
  std::string expression(const Step& each) const {
    std::vector<std::string> operands;
    for (std::size_t k = 0; k < operands_of(each); ++k)
      operands.push_back(operand(each, k));
    if (each.op == Op::Where && each.kind == Step::Kind::Compute)
      return concat("fn::choose(", operands[0], " != 0, ", operands[1], ", ",
                    operands[2], ")");
    SourceValue value{operands[0], compute_type(each.from)};
    bool is_first = true;
    for (const Operation& operation : operations_of(each)) {
      if (!is_first) operands = {value.text};
      is_first = false;
      value = call_of(operation, operands);
    }
    return converted(value, type_name(compute_type(each.dtype)));
  }

  /// Returns `value` as an expression of `type`, with a cast if needed.
  static std::string converted(const SourceValue& value, const char* type) {
    if (std::string_view(type) == type_name(value.type)) return value.text;
    return concat("static_cast<", type, ">(", value.text, ")");
  }
  std::string converted_operand(const Step& each, const char* type) const {
    return converted({operand(each, 0), step_type(step(each.operands[0]))},
                     type);
  }

  void write_row_part(std::size_t part) {
    line(
        "  template <u32 R, typename M>\n"
        "  static GPUOS_DEVICE void row(Part<",
        part, ">, Row<R>& r, const M& m) {");
    for (const std::uint32_t id : pass_.parts[part])
      if (step(id).kind == Step::Kind::Load ||
          step(id).kind == Step::Kind::Store)
        line("    PerRow<", stored_name(step(id).dtype), ", R> x", id, ";");
    for (const std::uint32_t id : pass_.parts[part])
      if (step(id).kind == Step::Kind::Load)
        line("    m.template load_row<", step(id).index, ">(x", id, ");");
    line("    GPUOS_EACH(w, m.rows()) {");
    if (part > 0) write_results(part - 1);
    for (const std::uint32_t id : pass_.parts[part]) write_row_step(id);
    line("    }");
    for (const std::uint32_t id : pass_.parts[part])
      if (step(id).kind == Step::Kind::Store)
        line("    m.template store_row<", step(id).index, ">(x", id, ");");
    line("  }");
  }

  void write_results(std::size_t loop) {
    for (const std::uint32_t id : pass_.parts[loop]) {
      const Step& each = step(id);
      if (each.kind != Step::Kind::Reduce) continue;
      SourceValue value{concat("r.g", id, ".result(w)"), reduction_type(each)};
      for (const Operation& operation : after_reduction(each))
        value = call_of(operation, {value.text});
      line("      r.v", id,
           "(w) = ", converted(value, type_name(step_type(each))), ";");
    }
  }

  /// A bool in memory is true unless it is 0.
  static std::string loaded(const Step& each, const std::string& text) {
    return concat("static_cast<", type_name(step_type(each)), ">(", text,
                  each.dtype == DType::Bool ? " != 0)" : ")");
  }

  std::string scalar(std::uint32_t id) const {
    const std::size_t index = step(id).index;
    if (index < pass_.scalars.size())
      return concat("m.template scalar<", value_type(id), ">(", index, ")");
    const std::uint64_t* bits = &pass_.constants[index - pass_.scalars.size()];
    if (step(id).dtype == DType::Complex128)
      return concat("C128{from_bits<double>(", bits[0],
                    "ull), from_bits<double>(", bits[1], "ull)}");
    return concat("from_bits<", value_type(id), ">(", bits[0], "ull)");
  }

  void write_row_step(std::uint32_t id) {
    const Step& each = step(id);
    switch (each.kind) {
      case Step::Kind::Load:
        line("      r.v", id, "(w) = ", loaded(each, concat("x", id, "(w)")),
             ";");
        break;
      case Step::Kind::Scalar:
        line("      r.v", id, "(w) = ", scalar(id), ";");
        break;
      case Step::Kind::Store:
        line("      x", id,
             "(w) = ", converted_operand(each, stored_name(each.dtype)), ";");
        break;
      default:
        line("      r.v", id, "(w) = ", expression(each), ";");
    }
  }

  /// Returns whether a reduction gathers an array's elements as they are.
  bool is_as_loaded(const Step& reduction) const {
    const std::uint32_t id = reduction.operands[0];
    return step(id).kind == Step::Kind::Load && !is_row_[id] &&
           std::string_view(stored_name(step(id).dtype)) ==
               type_name(reduction_type(reduction));
  }
  std::string gathered(std::uint32_t id) const {
    return is_as_loaded(step(id)) ? concat("x.x", step(id).operands[0])
                                  : concat("o", id);
  }

  void write_loop_part(std::size_t part) {
    line(
        "  template <typename R, u32 N, typename M>\n"
        "  static GPUOS_FLAT GPUOS_DEVICE void loop(Part<",
        part, ">, R& r, const Columns<N>& x, const M& m) {");
    const auto& steps = pass_.parts[part];
    for (const std::uint32_t id : steps) {
      if (step(id).kind == Step::Kind::Store)
        line("    Vector<", stored_name(step(id).dtype), ", N> o", id, ";");
      if (step(id).kind == Step::Kind::Reduce && !is_as_loaded(step(id)))
        line("    Vector<", type_name(reduction_type(step(id))), ", N> o", id,
             ";");
    }
    const LoopCuts cuts = cut_loop(pass_, part, is_row_);
    write_arrays(cuts);
    line("    GPUOS_EACH(w, m.elements()) {");
    for (std::size_t place = 0; place < steps.size(); ++place) {
      const auto cut = cuts.before.find(place);
      if (cut != cuts.before.end()) write_cut(cuts, cut->second);
      write_loop_step(steps[place]);
    }
    line("    }");
    for (const std::uint32_t id : steps) {
      if (step(id).kind == Step::Kind::Store)
        line("    m.template store<", step(id).index, ">(o", id, ");");
      if (step(id).kind == Step::Kind::Reduce)
        line("    m.gather(r.g", id, ", ", gathered(id), ");");
    }
    line("  }");
  }

  // The device has all of a loop's values in registers.

  void write_arrays(const LoopCuts& cuts) {
    if (cuts.arrays.empty()) return;
    line("#if !defined(__CUDACC__)");
    for (std::size_t k = 0; k < cuts.arrays.size(); ++k)
      line("    Vector<", type_name(cuts.arrays[k]), ", N> k", k, ";");
    line("#endif");
  }

  void write_cut(const LoopCuts& cuts, const LoopCut& cut) {
    line("#if !defined(__CUDACC__)");
    for (const std::uint32_t id : cut.kept)
      line("      k", cuts.array_of.at(id), "[w] = v", id, ";");
    line("    }\n    GPUOS_EACH(w, m.elements()) {");
    for (const std::uint32_t id : cut.used) {
      if (step(id).kind == Step::Kind::Compute)
        line("      const ", value_type(id), " v", id, " = k",
             cuts.array_of.at(id), "[w];");
      else
        write_loop_step(id);
    }
    line("#endif");
  }

  void write_loop_step(std::uint32_t id) {
    const Step& each = step(id);
    switch (each.kind) {
      case Step::Kind::Load:
        line("      const ", value_type(id), " v", id, " = ",
             loaded(each, concat("x.x", id, "[w]")), ";");
        break;
      case Step::Kind::Scalar:
        line("      const ", value_type(id), " v", id, " = ", scalar(id), ";");
        break;
      case Step::Kind::Store:
        line("      o", id,
             "[w] = ", converted_operand(each, stored_name(each.dtype)), ";");
        break;
      case Step::Kind::Reduce:
        if (is_as_loaded(each)) break;
        line("      o", id,
             "[w] = ", converted_operand(each, type_name(reduction_type(each))),
             ";");
        break;
      default:
        line("      const ", value_type(id), " v", id, " = ", expression(each),
             ";");
    }
  }

  const Pass& pass_;
  const Effort effort_;
  const bool is_ordered_;
  std::vector<bool> is_row_;
  std::string text_;
};

}  // namespace

std::string source_of(const Pass& pass, Effort effort, bool is_ordered) {
  return SourceWriter(pass, effort, is_ordered).write();
}

}  // namespace gpuos::program
