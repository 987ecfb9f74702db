// Sources and compilers that fail: each causes a CompileError, and later calls
// work.
#include "host/host_image.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <future>

#include "base/concat.h"
#include "deadlines.h"
#include "errors.h"
#include "gpuos/error.h"
#include "host/host_compiler.h"
#include "host/temp_folder.h"
#include "scoped_variable.h"

namespace gpuos::host {
namespace {

std::string error_of(const HostCompileRequest& request) {
  return thrown_by<CompileError>([&] { compile_host_operator(request); });
}

/// Returns the compiler's output for an operator, as a file.
std::string whole_library() {
  static const std::string bytes = [] {
    const TempFolder folder;
    const std::string source = folder.file("a.cpp");
    const std::string library = folder.file("a.so");
    write_file(source,
               "struct A { int x; A() : x(1) {} ~A() { x = 0; } };\n"
               "A a; extern \"C\" int get() { return a.x; }\n");
    const std::string command = concat(
        find_host_compiler().path, " -shared -fPIC -o ", library, " ", source);
    if (std::system(command.c_str()) != 0) return std::string();
    return read_file(library, 1 << 24);
  }();
  return bytes;
}

/// CXX is a script for as long as it lives.
class Script {
 public:
  explicit Script(const std::string& text) {
    write_file(path_, concat("#!/bin/sh\n"
                             "for out; do :; done\n"  // the last argument
                             "[ \"$out\" != --version ] || exit 1\n",
                             text, "\n"));
    chmod(path_.c_str(), 0700);
  }

  /// Returns the library's error with this compiler.
  static std::string error() {
    static int serial = 0;
    return error_of({concat("// ", ++serial), "op", kCompileDeadline});
  }

 private:
  TempFolder folder_;
  const std::string path_ = folder_.file("c++");
  ScopedVariable compiler_{"CXX", path_.c_str()};
};

TEST(HostImage, EveryCutOfALibraryIsRefused) {
  const std::string whole = whole_library();
  ASSERT_FALSE(whole.empty());
  EXPECT_NO_THROW(make_host_image(whole, "op"));
  for (std::size_t size = 0; size < whole.size();
       size += size < 2000 ? 1 : 64) {
    EXPECT_THROW(make_host_image(whole.substr(0, size), "op"), CompileError)
        << size << " of " << whole.size();
  }
  EXPECT_THROW(make_host_image(whole.substr(0, whole.size() - 1), "op"),
               CompileError);
  EXPECT_THROW(make_host_image("garbage", "op"), CompileError);
}

// Checks do not find all wrong headers, but nothing is read beyond the end. A
// sanitizer would report it.
TEST(HostImage, NoHeaderLeadsBeyondTheFile) {
  const std::string whole = whole_library();
  for (std::size_t at = 0; at < 64 + 8 * 56; ++at) {
    for (const int value : {0, 1, 0x7f, 0xff}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(value);
      try {
        make_host_image(bytes, "op");
      } catch (const CompileError&) {  // NOLINT(bugprone-empty-catch)
      }
    }
  }
}

constexpr const char* kCountsItsStatics = R"(
#include <vector>
struct Counted {
  int* count = nullptr;
  Counted() : numbers(3, 1) {}
  ~Counted() { if (count != nullptr) ++*count; }
  std::vector<int> numbers;
};
Counted first;
int more = 0;
[[gnu::constructor]] void function() { more = 1; }
GPUOS_OPERATOR(counts) {
  first.count = task.pointer<int>(0);
  *first.count = static_cast<int>(first.numbers.size()) + more;
}
)";

TEST(HostImage, StaticObjectsAreConstructedAndDestroyed) {
  int count = 0;
  const u64 args[] = {reinterpret_cast<u64>(&count)};
  {
    const HostModule module =
        compile_host_operator({kCountsItsStatics, "counts"});
    module.entry(Task{args, nullptr, 1}, Lane{});
    EXPECT_EQ(count, 4);
  }
  EXPECT_EQ(count, 5);
}

TEST(HostImage, AnExceptionOfAConstructorIsAnErrorAndLocksNothing) {
  const std::string text = error_of(
      {"#include <stdexcept>\n"
       "struct A { A() { throw std::runtime_error(\"no luck\"); } } a;\n"
       "GPUOS_OPERATOR(op) {}",
       "op"});
  EXPECT_TRUE(says(text, "constructor threw: no luck"));
  EXPECT_TRUE(says(error_of({"struct A { A() { throw 1; } } a;\n"
                             "GPUOS_OPERATOR(op) {}",
                             "op"}),
                   "an exception of unknown type"));
  // The loader's lock may be taken again by its owner.
  auto other = std::async(std::launch::async, [] {
    void* library = dlopen("libm.so.6", RTLD_NOW);
    return library != nullptr && dlclose(library) == 0;
  });
  ASSERT_EQ(other.wait_for(kDeadline), std::future_status::ready);
  EXPECT_TRUE(other.get());
}

TEST(HostImage, ObjectsBeforeTheOneThatThrowsAreDestroyed) {
  const TempFolder folder;
  const std::string note = folder.file("note");
  const std::string source = concat(
      "#include <cstdio>\n"
      "struct A { ~A() { std::fclose(std::fopen(\"",
      note,
      "\", \"w\")); } } a;\n"
      "struct B { B() { throw 1; } } b;\n"
      "GPUOS_OPERATOR(op) {}");
  EXPECT_TRUE(says(error_of({source, "op"}), "threw"));
  EXPECT_EQ(regular_file_bytes(note), 0u);
}

TEST(HostCompiler, OneThatIsKilledIsAnError) {
  const Script script("echo whole > \"$out\"; kill -9 $$");
  const std::string text = Script::error();
  EXPECT_TRUE(says(text, "ended by signal 9"));
}

TEST(HostCompiler, HalfALibraryIsAnError) {
  const TempFolder folder;
  const std::string whole = folder.file("whole");
  write_file(whole, whole_library());
  const Script script(concat("head -c 4096 '", whole, "' > \"$out\""));
  const std::string text = Script::error();
  EXPECT_TRUE(says(text, "a complete library, got 4096 bytes"));
}

TEST(HostCompiler, OutputThatIsAFifoIsAnError) {
  const Script script("mkfifo \"$out\"");
  EXPECT_TRUE(says(Script::error(), "failed"));
}

TEST(HostCompiler, OutputThatIsTooLargeIsAnErrorWithBothNumbers) {
  const Script script("truncate -s 300M \"$out\"");
  const std::string text = Script::error();
  EXPECT_TRUE(says(text, "at most 268435456"));
  EXPECT_TRUE(says(text, "got 314572800"));
}

TEST(HostCompiler, MayNotTakeAllMemoryDiskAndTime) {
  // The limits come just after the program began.
  const Script script(
      "sleep 1; echo \"error: $(ulimit -v) $(ulimit -f) $(ulimit -t)\"; "
      "exit 1");
  const std::string text = Script::error();
  EXPECT_TRUE(says(text, "error: "));
  EXPECT_FALSE(says(text, "unlimited"));
}

}  // namespace
}  // namespace gpuos::host
