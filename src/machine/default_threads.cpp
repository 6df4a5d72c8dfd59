// How many threads a call has that names no number.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "machine/parallel.h"

namespace kith::machine {

namespace {

// What default_threads() says; 0: not counted yet.
constinit std::atomic<int> counted{0};

// The first number of OMP_NUM_THREADS, or 0.
int threads_of_environment() {
    const char* const text = std::getenv("OMP_NUM_THREADS");
    if (!text) return 0;
    char* end = nullptr;
    const long number = std::strtol(text, &end, 10);
    return end != text && number > 0 ? static_cast<int>(std::min(number, 4096L)) : 0;
}

int processors() {
    // Machines have more processors than a fixed cpu_set_t names.
    for (std::size_t size = sizeof(cpu_set_t); size < (1 << 20); size *= 2) {
        std::vector<cpu_set_t> set(size / sizeof(cpu_set_t));
        if (sched_getaffinity(0, size, set.data()) == 0)
            return std::max(CPU_COUNT_S(size, set.data()), 1);
    }
    return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

// Processors that a quota of time is worth, infinity without one.
double quota(const std::string& folder) {
    constexpr double none = std::numeric_limits<double>::infinity();
    double time = 0, period = 0;
    if (std::ifstream v2(folder + "/cpu.max"); v2)
        return v2 >> time >> period && period > 0 ? time / period : none;
    std::ifstream v1_time(folder + "/cpu.cfs_quota_us"), v1_period(folder + "/cpu.cfs_period_us");
    return v1_time >> time && v1_period >> period && time > 0 && period > 0 ? time / period : none;
}

// The smallest quota of the process' cgroup and those above it.
double smallest_quota(const std::string& root) {
    double smallest = std::numeric_limits<double>::infinity();
    std::ifstream groups(root + "/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        if (!controllers.empty() && (',' + controllers + ',').find(",cpu,") == std::string::npos)
            continue;
        const std::string mount =
            root + "/sys/fs/cgroup" + (controllers.empty() ? "" : '/' + controllers);
        std::string path = line.substr(second + 1);
        while (true) {
            smallest = std::min(smallest, quota(mount + path));
            if (path.empty()) break;
            path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
        }
    }
    return smallest;
}

}  // namespace

int count_threads(const std::string& root) {
    if (const int named = threads_of_environment()) return named;
    const int all = processors();
    const double share = std::ceil(smallest_quota(root));
    return share < all ? std::max(static_cast<int>(share), 1) : all;
}

int default_threads() {
    // Two threads may both count.
    int threads = counted.load(std::memory_order_relaxed);
    if (threads == 0) counted.store(threads = count_threads(""), std::memory_order_relaxed);
    return threads;
}

}  // namespace kith::machine
