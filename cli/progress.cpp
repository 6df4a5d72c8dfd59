// The progress bar.
#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "interrupt.h"
#include "print.h"
#include "say.h"

namespace kith::cli {

ProgressBar::ProgressBar(bool wanted) : draws_(wanted && isatty(STDERR_FILENO)) {}

ProgressBar::~ProgressBar() {
    if (drawn_) say_text("\r\033[K");
}

bool ProgressBar::update(const Progress& progress) {
    if (interrupted()) return false;
    if (!draws_ || !(progress.total > 0)) return true;
    const double share = std::clamp(progress.done / progress.total, 0.0, 1.0);
    std::string facts = fmt::format(" {:3.0f} %", std::floor(share * 100));
    if (progress.done > 0 && progress.seconds > 0) {
        const double rate = progress.done / progress.seconds;
        const auto left = static_cast<long>(std::ceil((progress.total - progress.done) / rate));
        facts += fmt::format("  {}  {}:{:02} left", pair_rate(progress.done, progress.seconds), left / 60, left % 60);
    }
    const std::string stage = progress.stage[0] ? fmt::format("{} ", progress.stage) : "";
    const int room = terminal_width(STDERR_FILENO) - static_cast<int>(stage.size() + facts.size()) - 3;
    const int cells = std::clamp(room, 0, 40);
    const int full = static_cast<int>(share * cells);
    say("\r{}[{:#<{}}{:.<{}}]{}\033[K", stage, "", full, "", cells - full, facts);
    drawn_ = true;
    return true;
}

std::function<bool(const Progress&)> ProgressBar::callback() {
    return [this](const Progress& progress) { return update(progress); };
}

}  // namespace kith::cli
