// How many threads a call has that names no number: OMP_NUM_THREADS, affinity, and quotas on machines made of files.
#include <sched.h>

#include <cstdlib>
#include <vector>

#include "io_scratch.h"
#include "machine/parallel.h"

namespace kith::test {
namespace {

class DefaultThreads : public IoTest {
protected:
    void SetUp() override {
        IoTest::SetUp();
        unsetenv("OMP_NUM_THREADS");
        ASSERT_EQ(0, sched_getaffinity(0, sizeof before_, &before_));
    }
    void TearDown() override {
        sched_setaffinity(0, sizeof before_, &before_);
        IoTest::TearDown();
    }
    void file(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
        put(name, text);
    }
    // The first `count` of this machine's processors; false where it has fewer.
    bool bind_to(int count) const {
        cpu_set_t some;
        CPU_ZERO(&some);
        for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&some) < count; ++i)
            if (CPU_ISSET(i, &before_)) CPU_SET(i, &some);
        return CPU_COUNT(&some) == count && sched_setaffinity(0, sizeof some, &some) == 0;
    }
    int processors() const { return CPU_COUNT(&before_); }
    int threads() const { return machine::count_threads(path("")); }

private:
    cpu_set_t before_;
};

TEST_F(DefaultThreads, AsManyAsProcessorsWithoutLimits) {
    EXPECT_EQ(processors(), threads());
}

TEST_F(DefaultThreads, TheAffinity) {
    for (int count = 1; count <= processors(); ++count) {
        ASSERT_TRUE(bind_to(count));
        EXPECT_EQ(count, threads());
    }
}

TEST_F(DefaultThreads, TheEnvironmentComesFirst) {
    ASSERT_TRUE(bind_to(1));
    setenv("OMP_NUM_THREADS", "5,3", 1);
    EXPECT_EQ(5, threads());
    for (const char* none : {"", "0", "-2", "many"}) {
        setenv("OMP_NUM_THREADS", none, 1);
        EXPECT_EQ(1, threads()) << none;
    }
    unsetenv("OMP_NUM_THREADS");
}

TEST_F(DefaultThreads, AQuotaOfVersion2AndOfItsAncestors) {
    file("proc/self/cgroup", "0::/slice/unit\n");
    file("sys/fs/cgroup/slice/unit/cpu.max", "max 100000\n");
    EXPECT_EQ(processors(), threads());
    file("sys/fs/cgroup/slice/unit/cpu.max", "50000 100000\n");
    EXPECT_EQ(1, threads());
    // More than one processor, begun ones whole.
    file("sys/fs/cgroup/slice/unit/cpu.max", "150000 100000\n");
    EXPECT_EQ(std::min(2, processors()), threads());
    file("sys/fs/cgroup/slice/cpu.max", "100000 100000\n");
    EXPECT_EQ(1, threads());
    for (const char* wrong : {"", "max", "100000", "100000 0\n"}) {
        file("sys/fs/cgroup/slice/cpu.max", wrong);
        EXPECT_EQ(std::min(2, processors()), threads()) << wrong;
    }
}

TEST_F(DefaultThreads, AContainerThatSeesItsGroupAsTheRoot) {
    file("sys/fs/cgroup/cpu.max", "100000 100000\n");
    for (const char* seen : {"0::/\n", "0::/docker/abc\n", "0::/../other\n"}) {
        file("proc/self/cgroup", seen);
        EXPECT_EQ(1, threads()) << seen;
    }
}

TEST_F(DefaultThreads, AQuotaOfVersion1) {
    for (const char* controllers : {"cpu", "cpu,cpuacct", "cpuacct,cpu"}) {
        file("proc/self/cgroup", "9:memory:/other\n4:" + std::string(controllers) + ":/jobs/mine\n0::/\n");
        const std::string folder = "sys/fs/cgroup/" + std::string(controllers) + "/jobs/mine";
        file(folder + "/cpu.cfs_period_us", "100000\n");
        file(folder + "/cpu.cfs_quota_us", "-1\n");
        EXPECT_EQ(processors(), threads()) << controllers;
        file(folder + "/cpu.cfs_quota_us", "20000\n");
        EXPECT_EQ(1, threads()) << controllers;
    }
}

}  // namespace
}  // namespace kith::test
