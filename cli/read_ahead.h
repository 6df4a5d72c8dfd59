// Rows that a thread reads while others are searched.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>

#include "kith/io.h"

namespace kith::cli {

// One reading at a time: started, and taken or dropped.
class ReadAhead {
public:
    ReadAhead() = default;
    ~ReadAhead() { drop(); }
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    // Drops what was started before. `read` runs in a thread of its own, or in take() where none can be had; it gives
    // up, throwing, soon after `dropped()` has become true.
    void start(std::function<Matrix()> read);
    bool is_started() const { return rows_.valid(); }
    // Waits for what was started; throws what `read` threw.
    Matrix take();
    void drop();

    const std::atomic<bool>& dropped() const { return dropped_; }
    double waited_seconds() const { return waited_; }  // in take()

private:
    std::atomic<bool> dropped_ = false;
    double waited_ = 0;
    std::future<Matrix> rows_;
};

}  // namespace kith::cli
