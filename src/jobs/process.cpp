// Knows processes by what /proc says of them.
#include "jobs/process.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

namespace kith::groundtruth {
namespace {

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// 0 where there is no such process, where it has ended and only its parent has not heard of it, or
// without /proc.
std::int64_t start_of(std::int64_t pid) {
    const std::string line = first_line("/proc/" + std::to_string(pid) + "/stat");
    // The name in parentheses may hold anything; behind it are the state and, 19 fields on, the
    // start.
    const std::size_t end = line.rfind(')');
    if (end == std::string::npos) return 0;
    std::istringstream fields(line.substr(end + 1));
    std::string state, skipped;
    fields >> state;
    if (state == "Z" || state == "X") return 0;
    constexpr int between = 18;
    for (int i = 0; i < between; ++i) fields >> skipped;
    std::int64_t start = 0;
    fields >> start;
    return fields ? start : 0;
}

}  // namespace

Process this_process() {
    Process process;
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) == 0) process.host = host.data();
    process.boot = first_line("/proc/sys/kernel/random/boot_id");
    std::error_code failed;
    process.pid_namespace = std::filesystem::read_symlink("/proc/self/ns/pid", failed).string();
    process.pid = getpid();
    process.started = start_of(process.pid);
    return process;
}

bool is_gone(const Process& process) {
    const Process own = this_process();
    if (own.boot.empty() || own.pid_namespace.empty() || process.pid < 1) return false;
    if (process.host != own.host || process.boot != own.boot ||
        process.pid_namespace != own.pid_namespace)
        return false;
    if (kill(static_cast<pid_t>(process.pid), 0) != 0) return errno == ESRCH;
    return process.started != start_of(process.pid);
}

Json to_json(const Process& process) {
    return {{"host", process.host},
            {"boot", process.boot},
            {"namespace", process.pid_namespace},
            {"pid", process.pid},
            {"started", process.started}};
}

Process process_from(const Fields& fields) {
    constexpr std::int64_t most_pid = std::numeric_limits<pid_t>::max();
    return {fields.text("host"), fields.text("boot"), fields.text("namespace"),
            fields.integer("pid", 0, most_pid), fields.integer("started", 0, INT64_MAX)};
}

}  // namespace kith::groundtruth
