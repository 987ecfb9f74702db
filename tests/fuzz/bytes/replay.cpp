// Runs a target on every file of its corpus: what a fuzzer has found stays
// mended, with any compiler.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "target.h"

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: replay_TARGET FOLDER\n", stderr);
    return 2;
  }
  int files = 0;
  for (const auto& each : std::filesystem::directory_iterator(arguments[1])) {
    std::ifstream file(each.path(), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    std::printf("%s\n", each.path().c_str());
    std::fflush(stdout);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                           bytes.size());
    ++files;
  }
  if (files == 0) std::fprintf(stderr, "%s: no file\n", arguments[1]);
  return files == 0 ? 1 : 0;
}
