#pragma once

#include <span>
#include <string_view>

namespace gpuos {

/// A text file of cpp/device/ as it was when the library was built.
struct EmbeddedFile {
  std::string_view name;  // "operator.h"
  std::string_view text;
};

/// Every file of cpp/device/.
std::span<const EmbeddedFile> embedded_files();

/// Returns cpp/session/host/cell_names.h, which is included before host code.
std::string_view embedded_cell_names();

/// The device-linked fat image that nvcc made. It is empty with
/// GPUOS_BUILD_CUDA=OFF.
std::string_view embedded_worker_image();

/// The worker as relocatable PTX, one text for each translation unit. It is
/// empty where the image is present.
std::span<const std::string_view> embedded_worker_ptx();

}  // namespace gpuos
