#include "cuda/worker_image.h"

#include <cstdint>
#include <cstring>

#include "base/concat.h"
#include "base/embedded.h"
#include "gpuos/error.h"
#include "jit/linker.h"
#include "jit/operator_compiler.h"
#include "jit/toolkit/target.h"

namespace gpuos::cu {
namespace {

LoadableWorker embedded_image() {
  const std::string_view image = embedded_worker_image();
  if (image.empty())
    throw BackendUnavailable(
        "worker image: expected an embedded image, got a library that was "
        "built without one; use auto or nvrtc");
  return {std::string(image), "embedded"};
}

LoadableWorker ptx_image(int compute_capability) {
  std::vector<jit::Object> objects;
  for (const std::string_view ptx : embedded_worker_ptx()) {
    objects.push_back({.name = concat("worker_", objects.size(), ".ptx"),
                       .binary = std::string(ptx),
                       .is_ptx = true});
  }
  if (objects.empty())
    throw BackendUnavailable(
        "worker image: expected embedded PTX, got a library that was built "
        "without it; use auto or nvrtc");
  const jit::Target target{.arch = concat("compute_", compute_capability),
                           .is_ptx = true,
                           .link_arch = concat("sm_", compute_capability)};
  auto image = jit::link_by_driver(objects, target, jit::kWorkerRegisters);
  if (!image)
    throw BackendUnavailable(
        concat("worker image: expected a driver and an sm_", compute_capability,
               " device to link the embedded PTX, got none"));
  return {*std::move(image), "ptx"};
}

// The layout of a fat image, as fatbinary of CUDA 12 and 13 writes it. A header
// has a magic number, the version, its own size and the payload's size. The
// entries follow.
struct FatHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t payload_bytes;
};

struct FatEntry {
  std::uint16_t kind;  // 1: PTX, 2: CUBIN
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t payload_bytes;
  std::uint32_t compressed_bytes;
  std::uint32_t options;
  std::uint16_t minor;
  std::uint16_t major;
  std::uint32_t architecture;
};

constexpr std::uint32_t kFatMagic = 0xba55ed50u;

template <typename T>
bool read(std::string_view bytes, std::uint64_t at, T& value) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return false;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return true;
}

}  // namespace

void check_capability(int compute_capability) {
  const auto text = [](int capability) {
    return concat(capability / 10, ".", capability % 10);
  };
  if (compute_capability < jit::kOldestDevice)
    throw BackendUnavailable(concat(
        "cuda: expected a GPU of compute capability ", text(jit::kOldestDevice),
        " or newer, got ", text(compute_capability),
        ", which lacks the loads, stores and fences that a worker needs"));
}

LoadableWorker make_worker_image(WorkerImage kind, int compute_capability) {
  switch (kind) {
    case WorkerImage::Embedded:
      return embedded_image();
    case WorkerImage::Ptx:
      return ptx_image(compute_capability);
    case WorkerImage::Nvrtc:
      return {jit::compile_worker(compute_capability), "nvrtc"};
    case WorkerImage::Auto:
      break;
  }
  throw InvalidArgument(
      "worker image: expected Embedded, Ptx or Nvrtc, got Auto");
}

std::vector<std::string> architectures_of(std::string_view fat_image) {
  std::vector<std::string> found;
  FatHeader header{};
  if (!read(fat_image, 0, header) || header.magic != kFatMagic) return found;
  std::uint64_t at = header.header_bytes;
  FatEntry entry{};
  while (read(fat_image, at, entry) && entry.header_bytes >= sizeof(entry)) {
    found.push_back(
        concat(entry.kind == 1 ? "compute_" : "sm_", entry.architecture));
    at += entry.header_bytes + entry.payload_bytes;
  }
  return found;
}

}  // namespace gpuos::cu
