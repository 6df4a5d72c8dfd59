// Reads pieces, the next one in a thread.
#include "jobs/piece_reader.h"

#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

#include "kith/error.h"
#include "machine/float_state.h"

namespace kith::groundtruth {
namespace {

// Between two looks at the caller's wish while a thread reads.
constexpr std::chrono::milliseconds pause{50};

}  // namespace

const Matrix& PieceReader::hold(std::int64_t piece) {
    if (piece == held_) return rows_;
    held_ = none;
    rows_ = {};  // before another takes its room
    const Stopwatch clock;
    std::optional<Matrix> rows;
    if (piece == ahead_) {
        ahead_ = none;
        try {
            rows = take_ahead();
        } catch (const Error& error) {
            // Beside the other piece, which is gone now.
            if (error.code() != ErrorCode::out_of_memory) throw;
        }
    }
    if (!rows)
        rows = read_piece(of_, of_.pieces[static_cast<std::size_t>(piece)],
                          [this] { return stop_.goes_on(); });
    waited_ += clock.seconds();
    rows_ = std::move(*rows);
    held_ = piece;
    return rows_;
}

Matrix PieceReader::take_ahead() {
    // One that was put off, for lack of a thread, is read here.
    while (reading_.wait_for(pause) == std::future_status::timeout) {
        if (stop_.goes_on()) continue;
        drop();
        stop_.check();
    }
    return reading_.get();
}

void PieceReader::read_ahead(std::int64_t piece) {
    if (has(piece)) return;
    drop();
    const auto read = [this, piece] {
        const machine::FloatState state;
        return read_piece(of_, of_.pieces[static_cast<std::size_t>(piece)],
                          [this] { return !dropped_; });
    };
    try {
        reading_ = std::async(std::launch::async, read);
    } catch (const std::system_error&) {  // no thread can be had
        reading_ = std::async(std::launch::deferred, read);
    }
    ahead_ = piece;
}

void PieceReader::drop() {
    ahead_ = none;
    if (!reading_.valid()) return;
    dropped_ = true;
    // The last to hold an asynchronous result waits for it; one that was put off is never made.
    reading_ = {};
    dropped_ = false;
}

}  // namespace kith::groundtruth
