#pragma once

#include "gpuos/dtype.h"

namespace gpuos::program {

/// Returns the promoted dtype of NumPy 2. A short float that NumPy lacks wins
/// over integers; two short floats give float32.
DType promote(DType a, DType b) noexcept;

/// Promotes a number of Python next to an array. `weak` is Bool, Int64, Float64
/// or Complex128.
DType promote_weak(DType weak, DType array) noexcept;

/// The smallest floating dtype that NumPy computes a function of this dtype in.
DType floating_of(DType dtype) noexcept;

}  // namespace gpuos::program
