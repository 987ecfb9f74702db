#include <algorithm>
#include <cstddef>

#include "base/concat.h"
#include "device/operator.h"
#include "expression/expression.h"
#include "expression/lower.h"
#include "expression/ptx_operations.h"

// The same loop as gpuos::map() in device/map.h: packs of 16 bytes, several of
// them under way in each lane, then single elements. It is written here as
// PTX, because the front end of a compiler costs three times as much as all
// that comes after it.

namespace gpuos {
namespace expression {
namespace {

static_assert(sizeof(Task) == 24 && offsetof(Task, args) == 0 &&
                  offsetof(Task, count) == 16,
              "the generated code reads them there");

constexpr std::size_t kManyValues = 24;

class PtxWriter {
 public:
  PtxWriter(const Expression& expression, const Lowered& lowered,
            std::string_view entry)
      : expression_(expression),
        lowered_(lowered),
        entry_(entry),
        type_(ptx_type_of(lowered.dtype)),
        width_(16 / type_.bytes) {
    for (std::size_t i = 0; i < lowered.values.size(); ++i) {
      const Value& value = lowered.values[i];
      if (value.kind == Value::Kind::Input && lowered.is_used[i])
        inputs_.push_back(i);
    }
    is_double_ = inputs_.size() <= 2 && lowered.values.size() <= kManyValues &&
                 std::ranges::none_of(lowered.values, is_costly);
  }

  bool is_possible() const {
    for (std::size_t i = 0; i < lowered_.values.size(); ++i) {
      const Value& value = lowered_.values[i];
      if (!lowered_.is_used[i]) continue;
      if (value.kind == Value::Kind::Operation &&
          ptx_template(value.opcode, type_.is_real).empty())
        return false;
      if (value.kind == Value::Kind::Param &&
          ptx_conversion(param_type(value), lowered_.dtype).empty())
        return false;
    }
    return true;
  }

  std::string write() {
    const std::string head =
        concat(".visible .func gpuos_op_", entry_,
               "(.param .align 8 .b8 task[24], .param .align 4 .b8 lane[8])");
    line(head, ";");
    line(".visible .global .align 8 .u64 gpuos_entry_", entry_, " = gpuos_op_",
         entry_, ";");
    line(head);
    line("{");
    declare();
    load_arguments();
    write_packs();
    write_singles();
    line("ret;");
    line("}");
    return std::move(text_);
  }

 private:
  static bool is_costly(const Value& value) {
    return value.kind == Value::Kind::Operation &&
           (value.opcode == Opcode::Div || value.opcode == Opcode::Sqrt);
  }

  template <typename... Parts>
  void line(const Parts&... parts) {
    text_ += concat(parts..., "\n");
  }

  DType param_type(const Value& value) const {
    return expression_.params[value.index].dtype;
  }

  std::uint32_t copies() const { return is_double_ ? 2 * width_ : width_; }

  // The register of a value for one of the elements that a lane has at hand.
  std::string at(std::size_t value, std::uint32_t element) const {
    return lowered_.is_uniform[value] ? concat("%v", value)
                                      : concat("%v", value, "_", element);
  }

  void declare() {
    line(".reg .pred %p, %more, %second;");
    line(".reg .b32 %i, %j, %k, %count, %step, %packs;");
    line(".reg .b64 %args, %out, %at, %bits, %place, %place2;");
    for (std::size_t i = 0; i < lowered_.values.size(); ++i) {
      if (!lowered_.is_used[i]) continue;
      const Value& value = lowered_.values[i];
      line(".reg .", type_.name, " %v", i,
           lowered_.is_uniform[i] ? "" : concat("_<", copies(), ">"), ";");
      if (value.kind == Value::Kind::Input) line(".reg .b64 %in", i, ";");
      if (value.kind == Value::Kind::Param)
        line(".reg .", ptx_type_of(param_type(value)).name, " %raw", i, ";");
    }
  }

  void load_pointer(const std::string& name, std::size_t argument) {
    line("ld.u64 ", name, ", [%args+", 8 * argument, "];");
    line("cvta.to.global.u64 ", name, ", ", name, ";");
  }

  // What is the same for all elements, with what can be computed from it.
  void load_arguments() {
    line("ld.param.u64 %args, [task];");
    line("ld.param.u32 %count, [task+16];");
    line("ld.param.u32 %i, [lane];");
    line("ld.param.u32 %step, [lane+4];");
    line("mov.u32 %k, %tid.x;");
    line("add.u32 %i, %i, %k;");
    load_pointer("%out", 0);
    for (const std::size_t i : inputs_)
      load_pointer(concat("%in", i), 1 + lowered_.values[i].index);
    for (std::size_t i = 0; i < lowered_.values.size(); ++i) {
      if (lowered_.is_used[i] && lowered_.is_uniform[i]) write_uniform(i);
    }
  }

  void write_uniform(std::size_t i) {
    const Value& value = lowered_.values[i];
    switch (value.kind) {
      case Value::Kind::Input:
        break;
      case Value::Kind::Constant:
        line("mov.", type_.name, " %v", i, ", ",
             ptx_constant(value.bits, lowered_.dtype), ";");
        break;
      case Value::Kind::Param: {
        const DType from = param_type(value);
        line("ld.", ptx_type_of(from).name, " %raw", i, ", [%args+",
             8 * (1 + expression_.inputs.size() + value.index), "];");
        line(ptx_conversion(from, lowered_.dtype), " %v", i, ", %raw", i, ";");
        break;
      }
      case Value::Kind::Operation:
        write_operation(i, 0);
    }
  }

  void write_operation(std::size_t i, std::uint32_t element) {
    const Value& value = lowered_.values[i];
    text_ += fill_ptx(
        ptx_template(value.opcode, type_.is_real), lowered_.dtype,
        at(i, element),
        {at(value.operands[0], element), at(value.operands[1], element),
         at(value.operands[2], element)});
  }

  void compute(std::uint32_t elements) {
    for (std::size_t i = 0; i < lowered_.values.size(); ++i) {
      if (lowered_.values[i].kind != Value::Kind::Operation ||
          !lowered_.is_used[i] || lowered_.is_uniform[i])
        continue;
      for (std::uint32_t e = 0; e < elements; ++e) write_operation(i, e);
    }
  }

  std::string pack_of(std::size_t value, std::uint32_t first) const {
    std::string list;
    for (std::uint32_t e = first; e < first + width_; ++e)
      list += concat(e == first ? "{" : ", ", at(value, e));
    return list + "}";
  }

  std::string_view pack_type() const {
    switch (type_.bytes) {
      case 4:
        return type_.is_real ? "v4.f32" : "v4.s32";
      default:
        return type_.is_real ? "v2.f64" : "v2.s64";
    }
  }

  void load_packs(std::string_view place, std::uint32_t first) {
    for (const std::size_t i : inputs_) {
      line("add.u64 %at, %in", i, ", ", place, ";");
      line("ld.global.", pack_type(), " ", pack_of(i, first), ", [%at];");
    }
  }

  void store_pack(std::string_view when, std::string_view place,
                  std::uint32_t first) {
    line("add.u64 %at, %out, ", place, ";");
    line(when, "st.global.", pack_type(), " [%at], ",
         pack_of(lowered_.values.size() - 1, first), ";");
  }

  void write_packs() {
    line("mov.u64 %bits, %out;");
    for (const std::size_t i : inputs_)
      line("or.b64 %bits, %bits, %in", i, ";");
    line("and.b64 %bits, %bits, 15;");
    line("setp.ne.u64 %p, %bits, 0;");
    line("@%p bra singles;");
    line("shr.u32 %packs, %count, ", width_ == 4 ? 2 : 1, ";");
    line("mov.u32 %k, %i;");
    line("setp.ge.u32 %p, %k, %packs;");
    line("@%p bra rest;");
    line("next_pack:");
    line("mul.wide.u32 %place, %k, 16;");
    load_packs("%place", 0);
    if (is_double_) {
      // Without a condition, or the load would wait for the pack before it.
      line("add.u32 %j, %k, %step;");
      line("setp.lt.u32 %second, %j, %packs;");
      line("selp.u32 %k, %j, %k, %second;");
      line("mul.wide.u32 %place2, %k, 16;");
      load_packs("%place2", width_);
    }
    compute(copies());
    store_pack("", "%place", 0);
    if (is_double_) store_pack("@%second ", "%place2", width_);
    line("add.u32 %k, %k, %step;");
    line("setp.lt.u32 %more, %k, %packs;");
    line("@%more bra next_pack;");
    line("rest:");
    line("shl.b32 %packs, %packs, ", width_ == 4 ? 2 : 1, ";");
    line("add.u32 %i, %i, %packs;");
    line("singles:");
  }

  void write_singles() {
    line("setp.ge.u32 %p, %i, %count;");
    line("@%p bra done;");
    line("next_single:");
    line("mul.wide.u32 %place, %i, ", type_.bytes, ";");
    for (const std::size_t i : inputs_) {
      line("add.u64 %at, %in", i, ", %place;");
      line("ld.global.", type_.name, " ", at(i, 0), ", [%at];");
    }
    compute(1);
    line("add.u64 %at, %out, %place;");
    line("st.global.", type_.name, " [%at], ",
         at(lowered_.values.size() - 1, 0), ";");
    line("add.u32 %i, %i, %step;");
    line("setp.lt.u32 %more, %i, %count;");
    line("@%more bra next_single;");
    line("done:");
  }

  const Expression& expression_;
  const Lowered& lowered_;
  std::string_view entry_;
  PtxType type_;
  std::uint32_t width_;              // elements of a pack
  std::vector<std::size_t> inputs_;  // the values that are loaded
  bool is_double_ = false;           // two packs under way
  std::string text_;
};

}  // namespace
}  // namespace expression

std::string expression_ptx(const Expression& expression, DType dtype,
                           std::string_view entry) {
  using namespace expression;
  const Lowered lowered = lower(expression, dtype);
  PtxWriter writer(expression, lowered, entry);
  return writer.is_possible() ? writer.write() : "";
}

}  // namespace gpuos
