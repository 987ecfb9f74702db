// The operators of PyTorch that the bridge takes, by name.
#pragma once

#include <torch/library.h>

#include <string>
#include <vector>

namespace gpuos::bridge {

/// The lists of operators that Python has.
struct OperatorLists {
  std::vector<std::string> composite;        // made of others: pass unseen
  std::vector<std::string> other_composite;  // but may look at elements
  std::vector<std::string> views;            // do not look at elements
  std::vector<std::string> explicit_composite;
  // whose kernels would hide the barrier of pending tensors
};

/// Registers all operators. To be called once in a process.
/// Throws: c10::Error if another library has our keys.
void register_operators(const OperatorLists& lists);

/// Registers the operators that programs call most above autograd, without
/// boxing their arguments. Returns their names.
std::vector<std::string> register_kernels(torch::Library& mode);

}  // namespace gpuos::bridge
