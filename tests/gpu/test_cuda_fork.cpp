// A child that is forked while a thread of its parent looks for devices: it answers, on its CPU. No device is needed to
// see that.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "kith/kith.h"

namespace {
std::atomic<bool> opening = false, go_on = false;
}

// Takes the place of the C library's for this program: CUDA's runtime opens the driver's library first.
extern "C" void* dlopen(const char* name, int flags) noexcept {
    static const auto next = reinterpret_cast<void* (*)(const char*, int)>(dlsym(RTLD_NEXT, "dlopen"));
    if (name && std::strstr(name, "libcuda") && !(flags & RTLD_NOLOAD)) {
        opening = true;
        while (!go_on) usleep(1000);
    }
    return next(name, flags);
}

namespace {

kith::Plan planned() {
    return kith::plan({1000, 10, 4, 3, kith::ElementType::f32, false}, {});
}

TEST(CudaFork, AChildForkedWhileDevicesAreLookedFor) {
    std::thread looks([] { planned(); });
    while (!opening) usleep(1000);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        const kith::Plan plan = planned();
        _exit(plan.device == kith::host_memory && plan.why.find("forked") != std::string::npos ? 7 : 1);
    }
    int status = 0;
    EXPECT_LE(0, child);
    EXPECT_EQ(child, waitpid(child, &status, 0));
    go_on = true;
    looks.join();
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(7, WEXITSTATUS(status));
}

}  // namespace
