// The progress bar: one line on standard error, only where that is a terminal.
#pragma once

#include <string>

#include "kith/types.h"

namespace kith::cli {

class ProgressBar {
public:
    // Draws only if `wanted` and standard error is a terminal.
    explicit ProgressBar(bool wanted);
    ~ProgressBar();  // wipes the line
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    // For Options::progress: draws; false once Ctrl-C was pressed.
    bool update(const Progress& progress);
    // Draws work of which `done` of `total` pairs are done, at `rate` pairs a second; 0: unknown.
    void draw(const std::string& stage, double done, double total, double rate);
    // An Options::progress that calls update(); the bar must outlive it.
    std::function<bool(const Progress&)> callback();

private:
    bool draws_;
    bool drawn_ = false;
};

}  // namespace kith::cli
