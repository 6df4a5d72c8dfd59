// Reads /proc and the control groups for what is left to allocate.
#include "machine/memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "kith/error.h"
#include "kith/memory.h"
#include "machine/float_state.h"

namespace kith::machine {
namespace {

// What recently_free_memory() says, and since when. No lock, which a fork() could leave held: at
// worst two threads look at once.
constinit std::atomic<std::int64_t> taken{0}, recently_free{-1};

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
// Version 1 of control groups says so many pages where a group has no limit.
constexpr std::int64_t no_limit = std::int64_t{1} << 62;

std::optional<std::int64_t> number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) return unlimited;  // RLIM_INFINITY as a number
    return error == std::errc{} ? std::optional(value) : std::nullopt;
}

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

// The first word of a file that holds one number; nothing for "max" and where there is no such
// file.
std::optional<std::int64_t> number_in(const std::string& path) {
    std::ifstream file(path);
    std::string word;
    return file >> word ? number(word) : std::nullopt;
}

// The lines of a file that the system writes when it is read, once for all that is looked for in
// it; none where there is no such file.
std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

// The number after `key` in the first line that starts with it.
std::optional<std::int64_t> number_after(const std::vector<std::string>& lines,
                                         std::string_view key) {
    for (const std::string& line : lines) {
        if (!line.starts_with(key)) continue;
        const std::vector<std::string> words = words_of(line.substr(key.size()));
        return words.empty() ? std::nullopt : number(words[0]);
    }
    return {};
}

// `list` is separated by commas.
bool has(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(','), list.size());
        if (list.substr(0, end) == name) return true;
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return false;
}

// The names under which the two versions of control groups keep the same facts.
struct Version {
    const char* filesystem;
    const char* controller;  // among the mount's options
    const char* limit;
    const char* used;
    const char* droppable;
};
constexpr Version versions[] = {
    {"cgroup2", "", "memory.max", "memory.current", "inactive_file "},
    {"cgroup", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
};

// What a group leaves, or anything from `enough` on where it leaves that much. The files are read
// as far as it takes: each costs microseconds.
std::int64_t left_in_group(const std::string& folder, const Version& version, std::int64_t enough) {
    const std::optional<std::int64_t> limit = number_in(folder + "/" + version.limit);
    if (!limit || *limit >= no_limit) return unlimited;
    const std::optional<std::int64_t> used = number_in(folder + "/" + version.used);
    if (!used) return unlimited;
    if (*limit - *used >= enough) return enough;
    const std::int64_t droppable =
        number_after(lines_of(folder + "/memory.stat"), version.droppable).value_or(0);
    return *limit - *used + std::min(droppable, *used);
}

// This process' group within the hierarchy of `version`: "/a/b".
std::optional<std::string> group_of(const std::vector<std::string>& groups,
                                    const Version& version) {
    for (const std::string& line : groups) {
        const std::size_t controllers = line.find(':');
        const std::size_t path = line.find(':', controllers + 1);
        if (controllers == std::string::npos || path == std::string::npos) continue;
        const std::string_view names =
            std::string_view(line).substr(controllers + 1, path - controllers - 1);
        if (*version.controller ? has(names, version.controller) : names.empty())
            return line.substr(path + 1);
    }
    return {};
}

// What /proc/self says of groups and where they are mounted.
struct Groups {
    std::vector<std::string> groups, mounts;
};

// The least that this process' group and its ancestors leave. A container may see its own group as
// the mount's root, or not see it at all: what is not there sets no limit.
std::int64_t left_in_groups(const std::string& root, const Groups& own, const Version& version,
                            std::int64_t enough) {
    const std::optional<std::string> group = group_of(own.groups, version);
    if (!group) return enough;
    std::int64_t left = enough;
    const std::string of_filesystem = fmt::format(" - {} ", version.filesystem);
    for (const std::string& line : own.mounts) {
        if (line.find(of_filesystem) == std::string::npos)
            continue;  // of many lines, which take long to divide
        const std::vector<std::string> words = words_of(line);
        const auto dash = std::find(words.begin(), words.end(), "-");
        if (words.size() < 5 || words.end() - dash < 4 || dash[1] != version.filesystem) continue;
        if (*version.controller && !has(dash[3], version.controller)) continue;
        const std::string within = words[3] == "/" ? "" : words[3];
        std::string below = group->starts_with(within) ? group->substr(within.size()) : "";
        for (;; below.resize(below.rfind('/'))) {
            left = std::min(left, left_in_group(root + words[4] + below, version, left));
            if (below.find('/') == std::string::npos) break;
        }
    }
    return left;
}

// What RLIMIT_AS and RLIMIT_DATA leave: limits of pages that statm counts in its first and sixth
// field.
std::int64_t left_by_limits(const std::string& root) {
    std::ifstream file(root + "/proc/self/statm");
    std::vector<std::int64_t> pages;
    for (std::int64_t count = 0; file >> count;) pages.push_back(count);
    if (pages.size() < 6) return unlimited;
    const std::int64_t page = ::sysconf(_SC_PAGESIZE);
    const std::vector<std::string> limits = lines_of(root + "/proc/self/limits");
    const std::int64_t space = number_after(limits, "Max address space ").value_or(unlimited);
    const std::int64_t data = number_after(limits, "Max data size ").value_or(unlimited);
    return std::min(space - pages[0] * page, data - pages[5] * page);
}

std::int64_t left_on_machine(const std::string& root) {
    if (const auto kib = number_after(lines_of(root + "/proc/meminfo"), "MemAvailable:"))
        return *kib * 1024;
    return ::sysconf(_SC_AVPHYS_PAGES) * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

std::string in_words(std::int64_t bytes) {
    constexpr double mib = 1 << 20, gib = 1 << 30;
    const auto value = static_cast<double>(bytes);
    return value < gib ? fmt::format("{:.1f} MiB", value / mib)
                       : fmt::format("{:.1f} GiB", value / gib);
}

std::int64_t free_memory(const std::string& root) {
    std::int64_t left = std::min(left_on_machine(root), left_by_limits(root));
    const Groups own{lines_of(root + "/proc/self/cgroup"), lines_of(root + "/proc/self/mountinfo")};
    for (const Version& version : versions)
        left = std::min(left, left_in_groups(root, own, version, left));
    return std::max<std::int64_t>(left, 0);
}

std::int64_t recently_free_memory() {
    constexpr std::int64_t nanoseconds = 100'000'000;
    const std::int64_t now =
        std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    if (recently_free < 0 || now - taken > nanoseconds) {
        recently_free = free_memory("");
        taken = now;
    }
    return recently_free;
}

}  // namespace kith::machine

namespace kith {

std::int64_t free_memory() {
    return machine::free_memory("");
}

void require_memory(std::int64_t bytes, const std::string& what) {
    const machine::FloatState state;
    const std::int64_t free = free_memory();
    if (bytes <= free) return;
    throw Error(ErrorCode::out_of_memory,
                fmt::format("{} takes {} of memory; {} are free", what, machine::in_words(bytes),
                            machine::in_words(free)));
}

}  // namespace kith
