// NVRTC and nvJitLink of different versions, or one without the other. Each mix
// works or reports the missing library. A process opens each library once, so
// each mix runs in a separate process.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/concat.h"
#include "compile_request.h"
#include "deadlines.h"
#include "errors.h"
#include "gpuos/gpuos.h"
#include "host/subprocess.h"
#include "host/temp_folder.h"
#include "jit/toolkit/nvjitlink_api.h"
#include "jit/toolkit/nvrtc_api.h"
#include "jit/toolkit/shared_library.h"
#include "nvrtc_support.h"

namespace gpuos {
namespace {

namespace fs = std::filesystem;

// The parts of a mix: the files of one release.
struct Release {
  int major = 0;
  int minor = 0;
  std::string nvrtc;
  std::string builtins;
  std::string nvjitlink;
};

/// Returns the installed release, and those in GPUOS_TEST_TOOLKITS,
/// "FOLDER:FOLDER": each has all three files.
std::vector<Release> releases() {
  std::vector<Release> found;
  const jit::Nvrtc& api = jit::nvrtc();
  const jit::NvJitLink* linker = jit::try_nvjitlink(api.major, api.minor);
  if (linker == nullptr || linker->major == 0) return found;
  found.push_back({api.major, api.minor, api.path, api.builtins, linker->path});
  const char* more = std::getenv("GPUOS_TEST_TOOLKITS");
  std::istringstream folders(more == nullptr ? "" : more);
  for (std::string folder; std::getline(folders, folder, ':');) {
    Release release;
    const auto newest = [&](std::string_view name) {
      const auto files = jit::files_like(folder, name);
      return files.empty() ? std::string() : files.front();
    };
    release.nvrtc = newest("libnvrtc.so");
    release.builtins = newest("libnvrtc-builtins.so");
    release.nvjitlink = newest("libnvJitLink.so");
    const std::size_t at = release.builtins.rfind(".so.");
    if (release.nvrtc.empty() || release.nvjitlink.empty() ||
        at == release.builtins.npos)
      continue;
    std::istringstream version(release.builtins.substr(at + 4));
    char dot = 0;
    version >> release.major >> dot >> release.minor;
    found.push_back(std::move(release));
  }
  return found;
}

class ToolkitMix : public testing::Test {
 protected:
  void SetUp() override { GPUOS_SKIP_WITHOUT_NVRTC(); }

  /// Returns the output of TriesToCompile with only these files.
  std::string said_with(const std::vector<std::string>& files) {
    const fs::path root = fs::path(folder_.path()) / std::to_string(++number_);
    fs::create_directories(root / "lib");
    for (const std::string& file : files)
      fs::create_symlink(fs::canonical(file),
                         root / "lib" / fs::path(file).filename());
    const std::string log = (root / "log").string();
    const host::ProcessResult result = host::run_process(
        {"/usr/bin/env", "-u", "VIRTUAL_ENV", "-u", "CONDA_PREFIX", "-u",
         "CUDA_HOME", "-u", "CUDA_PATH", "-u", "LD_LIBRARY_PATH",
         concat("GPUOS_CUDA_LIBRARY_PATH=", (root / "lib").string()),
         "GPUOS_CACHE_DIR=off", "GPUOS_TEST_MIX=1",
         fs::canonical("/proc/self/exe").string(),
         "--gtest_filter=ToolkitMixed.TriesToCompile"},
        log, folder_.path(), kCompileDeadline);
    std::ostringstream text;
    text << std::ifstream(log).rdbuf();
    EXPECT_EQ(result.exit_code, 0) << text.str();
    const std::string all = text.str();
    const std::size_t begin = all.find("<<");
    const std::size_t end = all.find(">>");
    return end == all.npos ? all : all.substr(begin + 2, end - begin - 2);
  }

 private:
  host::TempFolder folder_;
  int number_ = 0;
};

// Runs in a separate process.
TEST(ToolkitMixed, TriesToCompile) {
  if (std::getenv("GPUOS_TEST_MIX") == nullptr)
    GTEST_SKIP() << "it is for ToolkitMix, which starts it";
  std::string said;
  try {
    jit::compile_operators(jit::request_for(
        "op",
        "GPUOS_OPERATOR(op) { task.pointer<float>(0)[lane.index()] = 2; }"));
    said = concat("compiled by ", jit::nvrtc().major, ".", jit::nvrtc().minor);
  } catch (const Error& error) {
    said = error.what();
  }
  std::printf("<<%s>>", said.c_str());
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_TRUE(says(text, part));
}

TEST_F(ToolkitMix, NeedsALinkerOfItsOwnMajorVersion) {
  for (const Release& compiler : releases()) {
    const std::string version = concat(compiler.major, ".", compiler.minor);
    for (const Release& linker : releases()) {
      SCOPED_TRACE(concat("NVRTC ", version, ", nvJitLink ", linker.major, ".",
                          linker.minor));
      const std::string said =
          said_with({compiler.nvrtc, compiler.builtins, linker.nvjitlink});
      const bool fits =
          linker.major == compiler.major && linker.minor >= compiler.minor;
      if (fits) {
        EXPECT_EQ(said, "compiled by " + version);
        continue;
      }
      // On a machine with a GPU the driver links.
      if (said == "compiled by " + version) continue;
      expect_in(said, concat("no libnvJitLink.so of version ", version));
      expect_in(said, compiler.major < 13
                          ? "pip install nvidia-cuda-nvrtc-cu12 "
                          : "pip install nvidia-cuda-nvrtc ");
    }
  }
}

TEST_F(ToolkitMix, ALibraryThatIsMissingIsNamed) {
  for (const Release& all : releases()) {
    const std::string version = concat(all.major, ".", all.minor);
    SCOPED_TRACE(version);
    const auto expect_named = [&](const std::string& said,
                                  const std::string& missing) {
      // The driver links where there is one, and the system has libraries too.
      if (said != "compiled by " + version) expect_in(said, missing);
    };
    expect_named(said_with({all.nvrtc, all.builtins}),
                 "no libnvJitLink.so of version " + version);
    expect_named(said_with({all.nvrtc, all.nvjitlink}),
                 "libnvrtc-builtins.so." + version);
  }
}

TEST_F(ToolkitMix, WithoutNvrtcTheFolderThatWasNamedIsListed) {
  const std::string said = said_with({});
  if (said.starts_with("compiled by")) GTEST_SKIP() << "the system has one";
  expect_in(said, "libnvrtc.so was not found in ");
  expect_in(said, "/lib, the process");
}

}  // namespace
}  // namespace gpuos
