#include "gpuos/kernel_args.h"

namespace gpuos {

KernelArgs& KernelArgs::add(Scalar number) {
  KernelArg& arg = values_.emplace_back();
  arg.kind = KernelArg::Kind::Number;
  arg.type = "number";
  arg.number = number;
  return *this;
}

KernelArgs& KernelArgs::add_bytes(const void* data, std::size_t bytes,
                                  std::string type, KernelArg::Kind kind) {
  KernelArg& arg = values_.emplace_back();
  arg.kind = kind;
  arg.type = std::move(type);
  arg.bytes = bytes;
  std::byte* to = arg.small.data();
  if (bytes > KernelArg::kInlineBytes) {
    arg.large.resize(bytes);
    to = arg.large.data();
  }
  if (bytes > 0) std::memcpy(to, data, bytes);
  return *this;
}

}  // namespace gpuos
