// The beginning of every document of results; reading and writing them.
#include "document.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <fstream>

#include "kith/kith.h"

namespace kith::bench {

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
    return {{"device", device},
            {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(now))},
            {"quick", quick},
            {"version", KITH_VERSION},
            {"build", kith::build_info()}};
}

Json read(const std::string& name) {
    std::ifstream file(name);
    if (!file) throw Error(ErrorCode::bad_file, name + ": cannot be read");
    try {
        return Json::parse(file);
    } catch (const Json::exception& error) {
        throw Error(ErrorCode::bad_file, name + ": " + error.what());
    }
}

void write(const Json& document, const std::string& name) {
    const std::string part = name + ".part";
    std::ofstream file(part);
    file << document.dump(1) << '\n';
    if (!file.flush()) throw Error(ErrorCode::bad_file, part + ": cannot be written");
    file.close();
    std::filesystem::rename(part, name);
}

}  // namespace kith::bench
