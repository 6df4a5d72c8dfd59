// The beginning of every document of results; reading and writing them.
#include "document.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "gpu/backend.h"
#include "kith/kith.h"
#include "sources_hash.h"

namespace kith::bench {

namespace {

std::vector<std::string> command_line;
// Hashes of the documents that this run goes on from, where they are not this build's; "none" of one without a hash.
std::vector<std::string> earlier_sources;

void add_earlier(const std::string& hash) {
    if (hash != sources && std::ranges::find(earlier_sources, hash) == earlier_sources.end())
        earlier_sources.push_back(hash);
}

// The NVIDIA driver's; "" without one.
std::string driver_version() {
    std::ifstream file("/proc/driver/nvidia/version");
    std::string line;
    std::getline(file, line);
    std::istringstream words(line);
    for (std::string word; words >> word;)
        if (word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != std::string::npos)
            return word;
    return "";
}

}  // namespace

void set_command(int argc, char** argv) {
    command_line = {"kith-bench"};
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        command_line.push_back(word.starts_with('/') ? std::filesystem::path(word).filename().string() : word);
    }
}

std::string figure(double x) {
    if (!std::isfinite(x)) return "-";
    const double size = std::abs(x);
    return size >= 1e6    ? fmt::format("{:.2e}", x)
           : size >= 100  ? fmt::format("{:.0f}", x)
           : size >= 10   ? fmt::format("{:.1f}", x)
           : size >= 1    ? fmt::format("{:.2f}", x)
           : size >= 1e-3 ? fmt::format("{:.4f}", x)
           : size > 0     ? fmt::format("{:.2e}", x)
                          : "0";
}

Json number(double x) {
    return std::isfinite(x) ? Json(x) : Json(nullptr);
}

Json head(const std::string& device, bool quick) {
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    Json document{{"device", device},   {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(now))},
                  {"quick", quick},     {"version", KITH_VERSION},
                  {"sources", sources}, {"command", command_line}};
    if (gpu::device_count() > 0) document["driver"] = driver_version();
    document["build"] = kith::build_info();
    return document;
}

bool is_of_run(const std::string& field) {
    static constexpr const char* fields[] = {"date",    "version", "sources", "earlier_sources",
                                             "command", "driver",  "build"};
    return std::ranges::find(fields, field) != std::end(fields);
}

Json read(const std::string& name) {
    std::ifstream file(name);
    if (!file) throw Error(ErrorCode::bad_file, name + ": cannot be read");
    try {
        Json document = Json::parse(file);
        if (document.is_object()) {
            add_earlier(document.value("sources", "none"));
            for (const Json& hash : document.value("earlier_sources", Json::array())) add_earlier(hash);
        }
        return document;
    } catch (const Json::exception& error) {
        throw Error(ErrorCode::bad_file, name + ": " + error.what());
    }
}

void write(const Json& document, const std::string& name) {
    const std::string part = name + ".part";
    std::ofstream file(part);
    Json whole = document;
    if (!earlier_sources.empty()) whole["earlier_sources"] = earlier_sources;
    file << whole.dump(1) << '\n';
    if (!file.flush()) throw Error(ErrorCode::bad_file, part + ": cannot be written");
    file.close();
    std::filesystem::rename(part, name);
}

}  // namespace kith::bench
