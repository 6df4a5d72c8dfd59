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

// The piece of a file that is searched, and the one that is read meanwhile; pieces are known by their number.
class PieceReader {
public:
    // `read` gives up, throwing, soon after the flag has become true.
    using Read = std::function<Matrix(std::int64_t piece, const std::atomic<bool>& dropped)>;
    explicit PieceReader(Read read) : read_(std::move(read)) {}

    // The piece: held, read ahead, or read now. The one before is gone. Throws what `read` throws.
    const Matrix& hold(std::int64_t piece);
    // Reads it while the other is searched, in place of what was read ahead and not wanted. Errors show in hold().
    void read_ahead(std::int64_t piece);
    // Whether it is held or read ahead.
    bool has(std::int64_t piece) const { return piece == held_ || piece == ahead_; }
    double waited_seconds() const { return waited_ + reading_.waited_seconds(); }  // in hold()

private:
    static constexpr std::int64_t none = -1;

    Read read_;
    std::int64_t held_ = none, ahead_ = none;
    Matrix rows_;
    double waited_ = 0;
    ReadAhead reading_;  // the first to go: it uses what stands before it
};

}  // namespace kith::cli
