#pragma once

#include <Python.h>

#include "dlpack.h"

namespace gpuos::python {

/// Describes an object's memory as the C functions of its type do, by DLPack's
/// exchange API. It is not valid if there are no functions or if they fail. It
/// is also not valid for a tensor that needs a gradient, because the functions
/// would not refuse it.
///
/// Lifetime: the description is valid as long as this and the object are. The
/// memory is valid as long as the object.
/// Threads: the GIL is held when it is made and destroyed.
class Exchanged {
 public:
  /// Reads the description. Only with `is_written` it knows if the memory is
  /// read-only.
  Exchanged(PyObject* object, bool is_written) noexcept;
  ~Exchanged();
  Exchanged(const Exchanged&) = delete;
  Exchanged& operator=(const Exchanged&) = delete;

  bool is_valid() const noexcept { return is_valid_; }
  const dlpack::Tensor& tensor() const noexcept { return tensor_; }
  bool is_read_only() const noexcept {
    return managed_ != nullptr &&
           (managed_->flags & dlpack::kReadOnlyFlag) != 0;
  }

 private:
  bool read(const dlpack::ExchangeApi& api, PyObject* object, bool is_written);

  dlpack::Tensor tensor_;
  dlpack::ManagedVersioned* managed_ = nullptr;  // owned
  bool is_valid_ = false;
};

}  // namespace gpuos::python
