// What is free for this process: machines made of files, and this one.
#include "kith/memory.h"

#include <unistd.h>

#include "io_scratch.h"
#include "machine/memory.h"

namespace kith::test {
namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;

// A root folder with the files of a machine that has 16 GiB available and no limits.
class Memory : public IoTest {
protected:
    void SetUp() override {
        IoTest::SetUp();
        file("proc/meminfo", "MemTotal: 33554432 kB\nMemFree: 1024 kB\nMemAvailable:   16777216 kB\n");
        file("proc/self/statm", "1000 500 400 5 0 100 0\n");
        limits("unlimited", "unlimited");
    }
    void file(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
        put(name, text);
    }
    void limits(const std::string& space, const std::string& data) const {
        file("proc/self/limits",
             "Limit                     Soft Limit           Hard Limit           Units     \n"
             "Max data size             " +
                 data +
                 "            unlimited            bytes     \n"
                 "Max address space         " +
                 space + "            unlimited            bytes     \n");
    }
    // A group of version 2 with these numbers, below the mount at sys/fs/cgroup.
    void group(const std::string& name, const std::string& limit, std::int64_t used, std::int64_t inactive) const {
        const std::string folder = "sys/fs/cgroup" + name;
        file(folder + "/memory.max", limit + "\n");
        file(folder + "/memory.current", std::to_string(used) + "\n");
        file(folder + "/memory.stat", "anon 7\ninactive_anon 9\ninactive_file " + std::to_string(inactive) + "\n");
    }
    std::int64_t free() const { return machine::free_memory(path("")); }
};

TEST_F(Memory, WithoutLimitsWhatTheMachineHasAvailable) {
    EXPECT_EQ(free(), 16 * gib);
}

TEST_F(Memory, LimitsOfTheProcess) {
    const std::int64_t page = ::sysconf(_SC_PAGESIZE);
    limits(std::to_string(2 * gib), "unlimited");
    EXPECT_EQ(free(), 2 * gib - 1000 * page);
    limits(std::to_string(2 * gib), std::to_string(gib));
    EXPECT_EQ(free(), gib - 100 * page);
    limits("4096", "unlimited");
    EXPECT_EQ(free(), 0);
}

TEST_F(Memory, GroupsOfVersion2AndTheirAncestors) {
    file("proc/self/cgroup", "0::/slice/unit\n");
    file("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
    group("/slice/unit", "max", 5 * gib, 0);
    EXPECT_EQ(free(), 16 * gib);
    group("/slice/unit", std::to_string(8 * gib), 5 * gib, gib);
    EXPECT_EQ(free(), 4 * gib);
    group("/slice", std::to_string(6 * gib), 5 * gib, 0);
    EXPECT_EQ(free(), gib);
}

TEST_F(Memory, AContainerThatSeesItsGroupAsTheRoot) {
    file("proc/self/mountinfo", "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    group("", std::to_string(3 * gib), gib, 0);
    for (const char* seen : {"0::/docker/abc\n", "0::/\n", "0::/../other\n"}) {
        file("proc/self/cgroup", seen);
        EXPECT_EQ(free(), 2 * gib) << seen;
    }
}

TEST_F(Memory, GroupsOfVersion1) {
    file("proc/self/cgroup", "4:cpu,memory:/job\n0::/\n");
    file("proc/self/mountinfo",
         "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
         "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
         "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,cpu,memory\n");
    const std::string folder = "sys/fs/cgroup/memory/job";
    file(folder + "/memory.limit_in_bytes", std::to_string(2 * gib) + "\n");
    file(folder + "/memory.usage_in_bytes", std::to_string(gib) + "\n");
    file(folder + "/memory.stat", "inactive_file 1\ntotal_inactive_file " + std::to_string(gib / 2) + "\n");
    file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    file("sys/fs/cgroup/memory/memory.usage_in_bytes", "123456\n");
    EXPECT_EQ(free(), gib + gib / 2);
}

TEST_F(Memory, ThisMachine) {
    EXPECT_GT(free_memory(), 0);
    EXPECT_GT(machine::recently_free_memory(), 0);
    require_memory(1, "a byte");
    const std::string message = message_of(ErrorCode::out_of_memory, [] { require_memory(1LL << 60, "base.fvecs"); });
    expect_has(message, "base.fvecs takes 1073741824.0 GiB of memory; ");
    expect_has(message, " are free");
}

}  // namespace
}  // namespace kith::test
