// After NVRTC is loaded, an operator is compiled without opening a file. This
// is a separate program, because the kernel's filter stays until the process
// ends.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/embedded.h"
#include "compile_request.h"
#include "jit/toolkit/nvrtc_api.h"
#include "jit/toolkit/target.h"
#include "jit/unit_compiler.h"
#include "nvrtc_support.h"

namespace gpuos::jit {
namespace {

[[maybe_unused]] const int is_cache_off = setenv("GPUOS_CACHE_DIR", "off", 1);

std::atomic<int> opens = 0;
std::array<char, 256> first_path{};

#if defined(__x86_64__)
constexpr unsigned kArch = AUDIT_ARCH_X86_64;
void answer(ucontext_t* context, long value) {
  context->uc_mcontext.gregs[REG_RAX] = value;
}
const char* path_of(ucontext_t* context) {
  return reinterpret_cast<const char*>(context->uc_mcontext.gregs[REG_RSI]);
}
#elif defined(__aarch64__)
constexpr unsigned kArch = AUDIT_ARCH_AARCH64;
void answer(ucontext_t* context, long value) {
  context->uc_mcontext.regs[0] = static_cast<unsigned long long>(value);
}
const char* path_of(ucontext_t* context) {
  return reinterpret_cast<const char*>(context->uc_mcontext.regs[1]);
}
#else
constexpr unsigned kArch = 0;
void answer(ucontext_t*, long) {}
const char* path_of(ucontext_t*) { return ""; }
#endif

// Where there is no driver, nvJitLink looks for one at every link.
bool is_of_driver(std::string_view path) {
  return path.ends_with("/libcuda.so.1") || path == "/etc/ld.so.cache";
}

// Runs instead of the system call.
void count_open(int, siginfo_t* info, void* context) {
  auto* user = static_cast<ucontext_t*>(context);
  const char* path = info->si_syscall == SYS_openat ? path_of(user) : "";
  if (!is_of_driver(path) && opens.fetch_add(1) == 0)
    std::strncpy(first_path.data(), path, first_path.size() - 1);
  answer(user, -EACCES);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kOpensFilesItself = true;  // at the end, to look for leaks
#else
constexpr bool kOpensFilesItself = false;
#endif

/// Traps the opening of files in all threads of the process. Returns false if
/// the system forbids it.
bool trap_opens() {
  if (kOpensFilesItself) return false;
  struct sigaction action{};
  action.sa_sigaction = count_open;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSYS, &action, nullptr);
  constexpr auto kLoad = BPF_LD | BPF_W | BPF_ABS;
  constexpr auto kIf = BPF_JMP | BPF_JEQ | BPF_K;
  constexpr auto kReturn = BPF_RET | BPF_K;
#if defined(SYS_open)
  constexpr unsigned kOpen = SYS_open;
#else
  constexpr unsigned kOpen = SYS_openat;
#endif
  std::array<sock_filter, 8> code{{
      BPF_STMT(kLoad, offsetof(seccomp_data, arch)),
      BPF_JUMP(kIf, kArch, 0, 4),
      BPF_STMT(kLoad, offsetof(seccomp_data, nr)),
      BPF_JUMP(kIf, SYS_openat, 3, 0),
      BPF_JUMP(kIf, SYS_openat2, 2, 0),
      BPF_JUMP(kIf, kOpen, 1, 0),
      BPF_STMT(kReturn, SECCOMP_RET_ALLOW),
      BPF_STMT(kReturn, SECCOMP_RET_TRAP),
  }};
  sock_fprog program{.len = code.size(), .filter = code.data()};
  return kArch != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                 SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

class OpenFiles : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    try {
      // The first compilation opens NVRTC's builtins and the linker.
      compile_axpy("");
      is_trapped_ = trap_opens();
    } catch (const BackendUnavailable&) {
    }
  }
  void SetUp() override {
    GPUOS_SKIP_WITHOUT_NVRTC();
    if (!is_trapped_) GTEST_SKIP() << "no seccomp filter";
    opens = 0;
  }
  void TearDown() override {
    const int seen = opens;
    EXPECT_EQ(seen, 0) << first_path.data();
  }

  static void compile_axpy(const std::string& includes) {
    compile_operators(request_for(
        "axpy", concat(includes,
                       "GPUOS_OPERATOR(axpy) {\n"
                       "  task.pointer<float>(0)[lane.index()] = 1;\n}\n")));
  }

  static inline bool is_trapped_ = false;
};

TEST_F(OpenFiles, AreSeen) {
  if (!is_trapped_) GTEST_SKIP();
  EXPECT_EQ(open("/dev/null", O_RDONLY), -1);
  EXPECT_EQ(opens.exchange(0), 1);
  EXPECT_STREQ(first_path.data(), "/dev/null");
  first_path = {};
}

TEST_F(OpenFiles, AreNotNeededForAnOperator) { compile_axpy("// again\n"); }

TEST_F(OpenFiles, AreNotNeededForAnyHeader) {
  std::string all;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.name.ends_with(".h")) continue;
    all += concat("#include \"gpuos/", file.name, "\"\n");
    const Target target = choose_target(nvrtc(), 90, "");
    compile_unit(nvrtc(),
                 {.source = concat("#include \"gpuos/", file.name, "\"\n"),
                  .file_name = "header.cu"},
                 target);
    EXPECT_EQ(opens, 0) << file.name;
  }
  compile_axpy(all);
}

}  // namespace
}  // namespace gpuos::jit
