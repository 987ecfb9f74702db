#include "jit/headers/cuda_headers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/concat.h"
#include "errors.h"
#include "gpuos/diagnose.h"
#include "jit/toolkit/header_packages.h"
#include "jit/toolkit/shared_library.h"

namespace gpuos::jit {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

// Removed when the program ends.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "gpuos-XXXXXX").string();
    path = ::mkdtemp(name.data());
    // Before anything reads it. Bundled headers are unpacked there.
    ::setenv("GPUOS_CACHE_DIR", (path / "cache").c_str(), 1);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};
const fs::path& root() {
  static const Folder folder;
  return folder.path;
}

void write(const fs::path& path, const std::string& text = "") {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

bool is_before(const Texts& texts, const std::string& a, const std::string& b) {
  const auto at = std::ranges::find(texts, a);
  return at != texts.end() && std::find(at, texts.end(), b) != texts.end();
}

class CudaHeaders : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH"})
      ::unsetenv(name);
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    here_ = root() / test->name();
    fs::create_directories(here_);
    api_.major = 13;
    api_.minor = 0;
    api_.path = (here_ / "none" / "lib" / "libnvrtc.so.13").string();
  }

  std::string at(const std::string& path) const {
    return (here_ / path).string();
  }
  void add(const std::string& path, const std::string& text = "") const {
    write(here_ / path, text);
  }
  bool finds(const std::string& path) const {
    const Texts dirs = search_cuda_headers(api_).dirs;
    return std::ranges::find(dirs, at(path)) != dirs.end();
  }

  fs::path here_;
  Nvrtc api_;
};

TEST_F(CudaHeaders, AreFoundNextToNvrtc) {
  api_.path = at("env/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  add("env/site-packages/nvidia/cu13/include/cuda_fp16.h");
  add("env/site-packages/nvidia/cu13/include/cccl/cuda/std/version");
  EXPECT_TRUE(finds("env/site-packages/nvidia/cu13/include"));
  EXPECT_TRUE(finds("env/site-packages/nvidia/cu13/include/cccl"));
  EXPECT_EQ(search_cuda_headers(api_).dirs.front(),
            at("env/site-packages/nvidia/cu13/include"));
}

TEST_F(CudaHeaders, InWheelsWithoutALibrary) {
  api_.path = at("site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  add("site-packages/nvidia/cuda_cccl/include/cuda/std/version");
  add("site-packages/nvidia/cuda_runtime/include/cuda_fp16.h");
  EXPECT_TRUE(finds("site-packages/nvidia/cuda_cccl/include"));
  EXPECT_TRUE(finds("site-packages/nvidia/cuda_runtime/include"));
}

TEST_F(CudaHeaders, AreFoundNextToAGivenFolder) {
  add("announced/nvidia/cuda_runtime/include/cuda_fp16.h");
  add("announced/nvidia/curand/include/curand_kernel.h");
  add_library_dir(at("announced/nvidia/cuda_runtime/lib/"));
  EXPECT_TRUE(finds("announced/nvidia/cuda_runtime/include"));
  EXPECT_TRUE(finds("announced/nvidia/curand/include"));
}

TEST_F(CudaHeaders, InTheWheelsOfAFolderWithTheNewestCudaFirst) {
  for (const char* wheel : {"cublas", "cu12", "cu13", "cuda_nvrtc"})
    add(concat("env/nvidia/", wheel, "/include/cuda_fp16.h"));
  add_library_dir(at("env/nvidia"));
  const Texts dirs = search_cuda_headers(api_).dirs;
  EXPECT_TRUE(is_before(dirs, at("env/nvidia/cu13/include"),
                        at("env/nvidia/cu12/include")));
  EXPECT_TRUE(is_before(dirs, at("env/nvidia/cu12/include"),
                        at("env/nvidia/cublas/include")));
  const Texts folders = library_folders();
  EXPECT_TRUE(is_before(folders, at("env/nvidia/cu12/lib"),
                        at("env/nvidia/cuda_nvrtc/lib")));
  EXPECT_TRUE(
      is_before(folders, at("env/nvidia/cuda_nvrtc/lib"), at("env/nvidia")));
}

TEST_F(CudaHeaders, InEveryPlaceInTheirOrder) {
  const Texts places{
      "venv/lib/python3.11/site-packages/nvidia/cuda_runtime/include",
      "conda/include", "conda/targets/x86_64-linux/include", "home/include",
      "path/include"};
  for (const std::string& place : places) add(place + "/cuda_fp16.h");
  ::setenv("VIRTUAL_ENV", at("venv").c_str(), 1);
  ::setenv("CONDA_PREFIX", at("conda").c_str(), 1);
  ::setenv("CUDA_HOME", at("home").c_str(), 1);
  ::setenv("CUDA_PATH", at("path").c_str(), 1);
  const HeaderSearch search = search_cuda_headers(api_);
  Texts found;
  for (const std::string& dir : search.dirs)
    if (dir.starts_with(at(""))) found.push_back(dir);
  Texts wanted;
  for (const std::string& place : places) wanted.push_back(at(place));
#if !defined(__x86_64__)
  wanted.erase(wanted.begin() + 2);
#endif
  EXPECT_EQ(found, wanted);
  EXPECT_TRUE(
      is_before(search.places, at("conda/include"), "/usr/local/cuda/include"));
}

TEST_F(CudaHeaders, AreOthersByVersionAndDate) {
  add("home/include/cuda_runtime_api.h", "#define CUDART_VERSION  13000\n");
  add("home/include/x.h", "1");
  const Texts dirs{at("home/include")};
  const std::string first = identity_of(dirs);
  EXPECT_NE(identity_of(Texts{at("other/include")}), first);
  add("home/include/x.h", "2");
  EXPECT_EQ(identity_of(dirs), first);
  const fs::path version = at("home/include/cuda_runtime_api.h");
  const auto written = fs::last_write_time(version);
  add("home/include/cuda_runtime_api.h", "#define CUDART_VERSION  13010\n");
  fs::last_write_time(version, written);
  const std::string second = identity_of(dirs);
  EXPECT_NE(second, first);
  fs::last_write_time(version, written + std::chrono::seconds(1));
  EXPECT_NE(identity_of(dirs), second);
}

TEST_F(CudaHeaders, MissingHeadersAreReplacedByATextThatSaysSo) {
  api_.major = 99;  // a toolkit of the machine is of another version
  const auto names_of = [&](const Texts& dirs) {
    Texts all = dirs;
    std::vector<JitHeader> headers;
    add_cuda_headers(api_, all, headers);
    EXPECT_EQ(all.front(), dirs.front());
    Texts names;
    for (const JitHeader& header : headers) names.push_back(header.name);
    return names;
  };
  add("mine/cuda_runtime.h");
  const Texts with = names_of({at("mine")});
  EXPECT_EQ(std::ranges::count(with, "cub/cub.cuh"), 1);
  EXPECT_EQ(std::ranges::count(with, "cuda_runtime.h"), 0);
  // Where the machine has a toolkit, that has it.
  const bool is_here =
      !find_cuda_headers(cuda_include_dirs(api_)).folder.empty();
  EXPECT_EQ(std::ranges::count(names_of({at("none")}), "cuda_runtime.h"),
            is_here ? 0 : 1);
}

TEST_F(CudaHeaders, OfAnotherMajorVersionComeLast) {
  add("old/include/cuda_runtime_api.h", "#define CUDART_VERSION  12090\n");
  add("old/include/cuda_fp16.h");
  add("new/include/cuda.h", "#define CUDA_VERSION 13010\n");
  add("new/include/cuda_fp16.h");
  ::setenv("CUDA_HOME", at("old").c_str(), 1);
  ::setenv("CUDA_PATH", at("new").c_str(), 1);
  EXPECT_FALSE(finds("old/include"));
  EXPECT_TRUE(finds("new/include"));
  EXPECT_TRUE(
      is_before(cuda_include_dirs(api_), at("new/include"), at("old/include")));
  EXPECT_EQ(find_cuda_headers({at("old/include")}).version, "12.9");
  EXPECT_EQ(find_cuda_headers({at("none"), at("new/include")}).version, "13.1");
  EXPECT_EQ(find_cuda_headers({at("none")}).folder, "");
}

TEST_F(CudaHeaders, AnErrorInThoseOfAnotherMajorVersionSaysSo) {
  add("old/include/cuda_runtime_api.h", "#define CUDART_VERSION  12090\n");
  add("old/include/cuda_fp16.h");
  ::setenv("CUDA_HOME", at("old").c_str(), 1);
  const auto said_of = [&](const std::string& file) -> std::string {
    return thrown_by<CompileError>([&] {
      throw_with_header_hint(
          CompileError("wrong", "", {.file = file, .line = 1}), api_);
    });
  };
  const std::string said = said_of(at("old/include/cuda_fp16.h"));
  EXPECT_TRUE(says(said, "are of CUDA 12.9, NVRTC is 13."));
  EXPECT_TRUE(says(said, "pip install \"nvidia-cuda-runtime==13.*\""));
  EXPECT_EQ(said_of(at("old/cuda_fp16.h")), "");
  EXPECT_EQ(said_of(""), "");
}

TEST_F(CudaHeaders, OneFolderUnderTwoNamesIsOne) {
  add("real/include/cuda_fp16.h");
  fs::create_directory_symlink(at("real"), at("link"));
  ::setenv("CUDA_HOME", at("link").c_str(), 1);
  ::setenv("CUDA_PATH", at("real").c_str(), 1);
  EXPECT_TRUE(finds("link/include"));
  EXPECT_FALSE(finds("real/include"));
}

TEST_F(CudaHeaders, TheSystemsOwnFolderIsNeverOne) {
  api_.path = "/usr/lib/libnvrtc.so.13";
  for (const std::string& dir : cuda_include_dirs(api_))
    EXPECT_NE(dir, "/usr/include");
}

TEST_F(CudaHeaders, NeighboursOfCooperativeGroupsAreFound) {
  add("home/include/cooperative_groups/details/info.h");
  ::setenv("CUDA_HOME", at("home").c_str(), 1);
  EXPECT_TRUE(is_before(cuda_include_dirs(api_), at("home/include"),
                        at("home/include/cooperative_groups/details")));
}

TEST_F(CudaHeaders, CcclTellsItsVersion) {
  add("include/cuda/std/version");
  add("include/cuda/std/__cccl/version.h", "#define CCCL_VERSION 3003005\n");
  EXPECT_EQ(find_cccl_headers({at("include")}).version, "3.3.5");
}

TEST_F(CudaHeaders, HintsNameThePackageThatFitsAndThePlaces) {
  const std::string hint = header_hint("cuda_fp16.h", api_);
  EXPECT_TRUE(says(hint, "pip install \"nvidia-cuda-runtime==13.*\""));
  EXPECT_TRUE(says(hint, at("none/include")));
  EXPECT_TRUE(says(hint, "/usr/local/cuda/include"));
  EXPECT_EQ(header_hint("mine.h", api_), "");
  EXPECT_TRUE(says(header_hint("cstdio", api_), "printf"));
}

TEST(HeaderPackages, FitTheMajorVersion) {
  struct Case {
    const char* header;
    const char* in13;
    const char* in12;
  };
  for (const Case& c : {
           Case{"cuda_runtime.h", "pip install \"nvidia-cuda-runtime==13.*\"",
                "pip install nvidia-cuda-runtime-cu12"},
           Case{"cuda/std/limits", "pip install \"nvidia-cuda-cccl==13.*\"",
                "pip install nvidia-cuda-cccl-cu12"},
           Case{"cub/block/block_reduce.cuh",
                "pip install \"nvidia-cuda-cccl==13.*\"",
                "pip install nvidia-cuda-cccl-cu12"},
           Case{"cooperative_groups.h",
                "pip install \"nvidia-cuda-runtime==13.*\" "
                "\"nvidia-cuda-cccl==13.*\"",
                "pip install nvidia-cuda-runtime-cu12 nvidia-cuda-cccl-cu12"},
           Case{"crt/host_defines.h", "pip install \"nvidia-cuda-crt==13.*\"",
                "pip install nvidia-cuda-nvcc-cu12"},
           Case{"curand_kernel.h", "pip install nvidia-curand",
                "pip install nvidia-curand-cu12"},
       }) {
    EXPECT_TRUE(package_hint(c.header, 13).ends_with(c.in13)) << c.header;
    EXPECT_TRUE(package_hint(c.header, 12).ends_with(c.in12)) << c.header;
  }
  for (const char* header : {"vector", "cuda_utils.h", "device_mine.h", "cuda"})
    EXPECT_EQ(package_hint(header, 13), "") << header;
  EXPECT_TRUE(says(standard_hint("tuple"), "cuda/std/tuple"));
  EXPECT_TRUE(says(standard_hint("vector"), "CCCL does not have"));
  EXPECT_NE(standard_hint("stdio.h"), "");
  EXPECT_EQ(standard_hint("mine.h"), "");
}

// An NVRTC that brings headers, without one.
int installs = 0;
nvrtcResult say_available(nvrtcBundledHeadersInfo* info, const char**) {
  *info = {.available = 1,
           .compressed_bytes = 1,
           .bytes = 1,
           .major = 13,
           .minor = 9,
           .files = 2};
  return NVRTC_SUCCESS;
}
nvrtcResult install(const char* folder, unsigned, const char**) {
  ++installs;
  write(fs::path(folder) / "cccl" / "cuda" / "std" / "version");
  write(fs::path(folder) / ".nvrtc_headers_version");
  return NVRTC_SUCCESS;
}
nvrtcResult fail(const char*, unsigned, const char** error) {
  *error = "disk is full";
  return NVRTC_ERROR_COMPILATION;
}

TEST_F(CudaHeaders, BundledOnesAreUnpackedWhereTheOthersLackSomething) {
  api_.major = 99;  // a toolkit of the machine is of another version
  api_.nvrtcGetBundledHeadersInfo = say_available;
  api_.nvrtcInstallBundledHeaders = install;
  const std::string folder = (root() / "cache/headers-13.9").string();
  EXPECT_TRUE(is_before(cuda_include_dirs(api_), folder, folder + "/cccl"));
}

TEST_F(CudaHeaders, BundledOnesAreUnpackedIntoTheCache) {
  api_.nvrtcGetBundledHeadersInfo = say_available;
  api_.nvrtcInstallBundledHeaders = install;
  installs = 0;
  const BundledHeaders seen = find_bundled_headers(api_);
  EXPECT_TRUE(seen.is_available);
  EXPECT_EQ(seen.version, "13.9");
  EXPECT_EQ(installs, 0);
  const BundledHeaders unpacked = unpack_bundled_headers(api_);
  EXPECT_TRUE(unpacked.is_unpacked) << unpacked.problem;
  EXPECT_EQ(unpacked.folder, (root() / "cache/headers-13.9").string());
  EXPECT_EQ(fs::status(unpacked.folder).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(find_bundled_headers(api_).is_unpacked);
}

TEST_F(CudaHeaders, BundledOnesThatCannotBeUnpackedSayWhy) {
  api_.nvrtcGetBundledHeadersInfo = say_available;
  api_.nvrtcInstallBundledHeaders = fail;
  const BundledHeaders headers = unpack_bundled_headers(api_);
  EXPECT_FALSE(headers.is_unpacked);
  EXPECT_TRUE(headers.problem.ends_with("disk is full")) << headers.problem;
}

TEST_F(CudaHeaders, WithoutBundledOnesNothingIsUnpacked) {
  const BundledHeaders headers = unpack_bundled_headers(api_);
  EXPECT_FALSE(headers.is_available);
  EXPECT_EQ(headers.folder, "");
}

}  // namespace
}  // namespace gpuos::jit
