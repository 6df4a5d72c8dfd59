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
    draw(progress.stage, progress.done, progress.total, progress.seconds > 0 ? progress.done / progress.seconds : 0);
    return true;
}

void ProgressBar::draw(const std::string& stage, double done, double total, double rate) {
    if (!draws_ || !(total > 0)) return;
    const double share = std::clamp(done / total, 0.0, 1.0);
    std::string facts = fmt::format(" {:3.0f} %", std::floor(share * 100));
    if (rate > 0) {
        const auto left = static_cast<long>(std::ceil((total - done) / rate));
        facts += fmt::format("  {}  {}:{:02} left", pair_rate(rate, 1), left / 60, left % 60);
    }
    const std::string name = stage.empty() ? "" : stage + " ";
    const int room = terminal_width(STDERR_FILENO) - static_cast<int>(name.size() + facts.size()) - 3;
    const int cells = std::clamp(room, 0, 40);
    const int full = static_cast<int>(share * cells);
    say("\r{}[{:#<{}}{:.<{}}]{}\033[K", name, "", full, "", cells - full, facts);
    drawn_ = true;
}

std::function<bool(const Progress&)> ProgressBar::callback() {
    return [this](const Progress& progress) { return update(progress); };
}

}  // namespace kith::cli
