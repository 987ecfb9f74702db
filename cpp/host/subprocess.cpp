#include "host/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <thread>

#include "base/concat.h"
#include "base/config.h"
#include "base/process_exit.h"
#include "gpuos/error.h"
#include "gpuos/interrupt.h"

namespace gpuos::host {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> environment_of(const std::string& temp_folder) {
  std::vector<std::string> variables;
  const auto inherited = environment();
  for (const std::string_view text : *inherited) {
    if (text.starts_with("LC_ALL=") || text.starts_with("LANGUAGE=") ||
        text.starts_with("TMPDIR=")) {
      continue;
    }
    variables.emplace_back(text);
  }
  variables.emplace_back("LC_ALL=C");
  variables.push_back("TMPDIR=" + temp_folder);
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The actions of posix_spawn() in the child before the program begins.
class SpawnSetup {
 public:
  explicit SpawnSetup(const std::string& log) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, 1, log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions_, 1, 2);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&actions_, 3);
#endif
    posix_spawnattr_init(&attributes_);
    // Its own group, so that the deadline reaches the compiler's children.
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP |
                                               POSIX_SPAWN_SETSIGMASK |
                                               POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// No program's mistake may take the machine's memory, disk or processor. Its
// children inherit the limits: this comes within microseconds, and the first of
// them takes longer to begin.
void limit_use(pid_t child, std::chrono::milliseconds timeout) {
  const auto lower = [child](auto resource, rlim_t most) {
    rlimit limit{};
    if (::prlimit(child, resource, nullptr, &limit) != 0) return;
    limit.rlim_cur = std::min(limit.rlim_cur, most);
    ::prlimit(child, resource, &limit, nullptr);
  };
  constexpr rlim_t kGiB = rlim_t{1} << 30;
  lower(RLIMIT_AS, 4 * kGiB);
  lower(RLIMIT_FSIZE, kGiB);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(timeout);
  lower(RLIMIT_CPU, static_cast<rlim_t>(seconds.count()) + 1);
}

// Leaves nine tenths of a processor to other processes that need it.
constexpr int kNice = 10;

/// Calls posix_spawn(). `yields`: the child has a lower priority than its
/// parent.
int spawn(pid_t& child, const std::vector<std::string>& command,
          const SpawnSetup& setup, std::vector<std::string>& variables,
          bool yields) {
  std::vector<std::string> words = command;
  const auto begin = [&] {
    return ::posix_spawn(&child, command[0].c_str(), setup.actions(),
                         setup.attributes(), pointers_to(words).data(),
                         pointers_to(variables).data());
  };
  if (!yields) return begin();
  // A child inherits the priority of the thread that starts it, and a thread
  // cannot raise its priority again. A separate thread is therefore used.
  int error = 0;
  std::thread([&] {
    ::setpriority(PRIO_PROCESS, 0, kNice);
    error = begin();
  }).join();
  return error;
}

// Polls, because a wait with a deadline needs a handler for SIGCHLD or a
// pidfd, and the process belongs to our caller.
template <typename IsOver>
ProcessResult wait_until(pid_t child, IsOver is_over) {
  auto pause = std::chrono::microseconds(200);
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) {
      return {false, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
              WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    }
    if (ended < 0 && errno == ECHILD) return {false, -1};
    if (is_over()) return {true, -1};
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(2000));
  }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command,
                          const std::string& log,
                          const std::string& temp_folder,
                          std::chrono::milliseconds timeout, bool yields) {
  const SpawnSetup setup(log);
  std::vector<std::string> variables = environment_of(temp_folder);
  pid_t child = 0;
  const int error = spawn(child, command, setup, variables, yields);
  if (error != 0) {
    throw Error(concat("host compiler: cannot start ", command[0], ": ",
                       std::strerror(error)));
  }
  limit_use(child, timeout);
  const auto deadline = Clock::now() + timeout;
  const ProcessResult result = wait_until(child, [deadline] {
    return Clock::now() >= deadline || is_process_exiting() ||
           Interrupt::is_asked_for();
  });
  if (result.is_timeout) {
    ::kill(-child, SIGKILL);
    ::kill(child, SIGKILL);
    const auto end = Clock::now() + std::chrono::seconds(5);
    wait_until(child, [end] { return Clock::now() >= end; });
  }
  Interrupt::check(command[0].c_str());
  return result;
}

}  // namespace gpuos::host
