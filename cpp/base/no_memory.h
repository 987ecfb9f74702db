#pragma once

#include <cstddef>
#include <new>
#include <string>

#include "base/concat.h"

namespace gpuos {

/// A std::bad_alloc that says how much was asked for.
class NoMemory : public std::bad_alloc {
 public:
  explicit NoMemory(std::size_t bytes)
      : text_(concat("expected room for ", bytes, " bytes, there is none")) {}

  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

}  // namespace gpuos
