#include "expression/ptx_operations.h"

#include <iomanip>

#include "base/concat.h"

namespace gpuos::expression {

PtxType ptx_type_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::Float32:
      return {"f32", 4, true};
    case DType::Float64:
      return {"f64", 8, true};
    case DType::Int32:
      return {"s32", 4, false};
    default:
      return {"s64", 8, false};
  }
}

std::string ptx_constant(std::uint64_t bits, DType dtype) {
  const PtxType type = ptx_type_of(dtype);
  const int digits = static_cast<int>(2 * type.bytes);
  if (type.bytes == 4) bits &= 0xffffffffu;
  const char* prefix = !type.is_real ? "0x" : type.bytes == 4 ? "0f" : "0d";
  return concat(prefix, std::hex, std::setfill('0'), std::setw(digits), bits);
}

// The same as device/math.h says in C++, bit for bit: `.rn` forbids that a
// product is merged with a sum, and comparisons, not min and max, choose among
// zeros and NaN.
std::string_view ptx_template(Opcode opcode, bool is_real) noexcept {
  switch (opcode) {
    case Opcode::Add:
      return is_real ? "add.rn.$t $o, $a, $b;" : "add.$t $o, $a, $b;";
    case Opcode::Sub:
      return is_real ? "sub.rn.$t $o, $a, $b;" : "sub.$t $o, $a, $b;";
    case Opcode::Mul:
      return is_real ? "mul.rn.$t $o, $a, $b;" : "mul.lo.$t $o, $a, $b;";
    case Opcode::Square:
      return is_real ? "mul.rn.$t $o, $a, $a;" : "mul.lo.$t $o, $a, $a;";
    case Opcode::Fma:
      return is_real ? "fma.rn.$t $o, $a, $b, $c;"
                     : "mad.lo.$t $o, $a, $b, $c;";
    case Opcode::Div:
      return is_real ? "div.rn.$t $o, $a, $b;" : "";
    case Opcode::Sqrt:
      return is_real ? "sqrt.rn.$t $o, $a;" : "";
    case Opcode::Neg:
      return "neg.$t $o, $a;";
    case Opcode::Abs:
      return is_real ? "abs.$t $o, $a;"
                     : "neg.$t $o, $a;\n"
                       "max.$t $o, $o, $a;";
    case Opcode::Floor:
      return is_real ? "cvt.rmi.$t.$t $o, $a;" : "mov.$t $o, $a;";
    case Opcode::Ceil:
      return is_real ? "cvt.rpi.$t.$t $o, $a;" : "mov.$t $o, $a;";
    case Opcode::Round:
      return is_real ? "cvt.rni.$t.$t $o, $a;" : "mov.$t $o, $a;";
    case Opcode::Less:
      return "setp.lt.$t %p, $a, $b;\n"
             "selp.$t $o, $1, $0, %p;";
    case Opcode::LessEqual:
      return "setp.le.$t %p, $a, $b;\n"
             "selp.$t $o, $1, $0, %p;";
    case Opcode::Greater:
      return "setp.gt.$t %p, $a, $b;\n"
             "selp.$t $o, $1, $0, %p;";
    case Opcode::GreaterEqual:
      return "setp.ge.$t %p, $a, $b;\n"
             "selp.$t $o, $1, $0, %p;";
    case Opcode::Equal:
      return "setp.eq.$t %p, $a, $b;\n"
             "selp.$t $o, $1, $0, %p;";
    case Opcode::NotEqual:
      return is_real ? "setp.neu.$t %p, $a, $b;\n"
                       "selp.$t $o, $1, $0, %p;"
                     : "setp.ne.$t %p, $a, $b;\n"
                       "selp.$t $o, $1, $0, %p;";
    case Opcode::Where:
      return is_real ? "setp.neu.$t %p, $a, $0;\n"
                       "selp.$t $o, $b, $c, %p;"
                     : "setp.ne.$t %p, $a, $0;\n"
                       "selp.$t $o, $b, $c, %p;";
    case Opcode::Minimum:
      return is_real ? "setp.le.$t %p, $a, $b;\n"
                       "setp.nan.or.$t %p, $a, $a, %p;\n"
                       "selp.$t $o, $a, $b, %p;"
                     : "min.$t $o, $a, $b;";
    case Opcode::Maximum:
      return is_real ? "setp.ge.$t %p, $a, $b;\n"
                       "setp.nan.or.$t %p, $a, $a, %p;\n"
                       "selp.$t $o, $a, $b, %p;"
                     : "max.$t $o, $a, $b;";
    case Opcode::Clip:
      return is_real ? "setp.ge.$t %p, $a, $b;\n"
                       "setp.nan.or.$t %p, $a, $a, %p;\n"
                       "selp.$t $o, $a, $b, %p;\n"
                       "setp.le.$t %p, $o, $c;\n"
                       "setp.nan.or.$t %p, $o, $o, %p;\n"
                       "selp.$t $o, $o, $c, %p;"
                     : "max.$t $o, $a, $b;\n"
                       "min.$t $o, $o, $c;";
    case Opcode::Relu:
      return is_real ? "setp.le.$t %p, $a, $0;\n"
                       "selp.$t $o, $0, $a, %p;"
                     : "max.$t $o, $a, $0;";
    case Opcode::Sign:  // 0 for both zeros, and NaN stays NaN
      return "setp.eq.$t %p, $a, $0;\n"
             "selp.$t $o, $0, $a, %p;\n"
             "setp.lt.$t %p, $a, $0;\n"
             "selp.$t $o, $m, $o, %p;\n"
             "setp.gt.$t %p, $a, $0;\n"
             "selp.$t $o, $1, $o, %p;";
    default:
      return "";
  }
}

namespace {

std::string whole_constant(int value, DType dtype) {
  switch (dtype) {
    case DType::Float32:
      return value == 0  ? "0f00000000"
             : value > 0 ? "0f3f800000"
                         : "0fbf800000";
    case DType::Float64:
      return value == 0  ? "0d0000000000000000"
             : value > 0 ? "0d3ff0000000000000"
                         : "0dbff0000000000000";
    default:
      return std::to_string(value);
  }
}

}  // namespace

std::string fill_ptx(std::string_view text, DType dtype,
                     const std::string& result,
                     const std::array<std::string, 3>& operands) {
  std::string filled;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      filled += text[i];
      continue;
    }
    switch (text[++i]) {
      case 't':
        filled += ptx_type_of(dtype).name;
        break;
      case 'o':
        filled += result;
        break;
      case '0':
        filled += whole_constant(0, dtype);
        break;
      case '1':
        filled += whole_constant(1, dtype);
        break;
      case 'm':
        filled += whole_constant(-1, dtype);
        break;
      default:  // a, b or c
        filled += operands[static_cast<std::size_t>(text[i] - 'a')];
    }
  }
  return filled + "\n";
}

std::string ptx_conversion(DType from, DType to) {
  const PtxType source = ptx_type_of(from);
  const PtxType target = ptx_type_of(to);
  if (from == to) return concat("mov.", target.name);
  if (source.is_real && !target.is_real) return "";
  const bool rounds =
      target.is_real && !(source.is_real && target.bytes > source.bytes);
  return concat(rounds ? "cvt.rn." : "cvt.", target.name, ".", source.name);
}

}  // namespace gpuos::expression
