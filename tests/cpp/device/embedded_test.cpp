#include "base/embedded.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "errors.h"

namespace gpuos {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::filesystem::path kRoot = GPUOS_SOURCE_DIR;
const std::filesystem::path kDevice = kRoot / "cpp" / "device";

// The lists are public headers.
std::filesystem::path path_of(std::string_view name) {
  return name == "vocabulary.h" || name == "dtype_list.h"
             ? kRoot / "include" / "gpuos" / name
             : kDevice / name;
}

TEST(Embedded, EveryTextIsTheFileOnDisk) {
  for (const EmbeddedFile& file : embedded_files()) {
    EXPECT_EQ(file.text, text_of(path_of(file.name))) << file.name;
  }
}

TEST(Embedded, EveryDeviceFileIsEmbedded) {
  std::size_t count = 2;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(kDevice))
    count += file.is_regular_file() && file.path().extension() != ".md";
  EXPECT_EQ(embedded_files().size(), count);
}

TEST(Embedded, TextsEndWithAZeroThatIsNotCounted) {
  for (const EmbeddedFile& file : embedded_files()) {
    EXPECT_EQ(file.text.data()[file.text.size()], '\0') << file.name;
  }
  for (const std::string_view ptx : embedded_worker_ptx()) {
    EXPECT_EQ(ptx.data()[ptx.size()], '\0');
    EXPECT_TRUE(says(ptx, ".target sm_"));
  }
}

TEST(Embedded, WorkerImageIsAFatImageOrNothing) {
  const std::string_view image = embedded_worker_image();
  EXPECT_EQ(image.empty(), embedded_worker_ptx().empty());
  if (image.empty()) GTEST_SKIP() << "built without a worker image";
  EXPECT_EQ(image.substr(0, 4), "\x50\xed\x55\xba");
}

}  // namespace
}  // namespace gpuos
