#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "contract.h"

namespace gpuos {
namespace {

class Fork : public Contract {
 protected:
  /// Returns the result of `child` in a child process, or -1 if it failed.
  static int in_child(const std::function<int()>& child) {
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(60);
      int code = 99;
      try {
        code = child();
      } catch (...) {
        code = 98;
      }
      _exit(code);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
      return -1;
    return WEXITSTATUS(status);
  }

  template <typename Call>
  static bool is_refused(Call call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what()).find("fork") != std::string::npos;
    }
    return false;
  }
};

TEST_P(Fork, TheChildGetsAnErrorAndTheParentGoesOn) {
  DeviceArray<float> x(runtime(), 1000, 1);
  const Operator add = runtime().find("add");
  Ticket pending = runtime().submit(add, {x.view(), x.view()}, x.view());
  const int code = in_child([&] {
    if (!is_refused(
            [&] { runtime().submit(add, {x.view(), x.view()}, x.view()); }))
      return 1;
    if (!is_refused([&] { runtime().wait(pending, kDeadline); })) return 2;
    if (!is_refused([&] { runtime().synchronize(kDeadline); })) return 3;
    if (!is_refused([&] { runtime().close(); })) return 4;
    if (!is_refused([&] { runtime().stats(); })) return 5;
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(runtime().wait(pending, kDeadline));
  runtime().submit(add, {x.view(), x.view()}, x.view());
  EXPECT_EQ(x.read(), std::vector<float>(1000, 4));
}

TEST_P(Fork, TheChildMayDropItsCopy) {
  auto x = std::make_unique<DeviceArray<float>>(runtime(), 10, 1.0f);
  const int code = in_child([&] {
    x.reset();
    runtime_.reset();
    return 0;
  });
  EXPECT_EQ(code, 0);
  runtime().submit("add", {x->view(), x->view()}, x->view());
  EXPECT_EQ(x->read(), std::vector<float>(10, 2));
}

TEST_P(Fork, TheChildMayMakeItsOwn) {
  if (!is_host()) GTEST_SKIP() << "CUDA does not work in a forked child";
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer allows no threads in a forked child";
#endif
  const int code = in_child([&] {
    Runtime own(options());
    float x[] = {1, 2}, out[2];
    const Ticket ticket = own.submit(
        "add", {TensorView(x, 2), TensorView(x, 2)}, TensorView(out, 2));
    if (!own.wait(ticket, kDeadline)) return 1;
    return out[1] == 4 ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
}

GPUOS_INSTANTIATE_CONTRACT(Fork);

}  // namespace
}  // namespace gpuos
