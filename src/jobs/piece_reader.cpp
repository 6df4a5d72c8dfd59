// Reads pieces; a thread reads the next one.
#include "jobs/piece_reader.h"

#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

#include "kith/error.h"
#include "machine/float_state.h"

namespace kith::groundtruth {
namespace {

// Interval between checks for cancellation while a thread reads.
constexpr std::chrono::milliseconds pause{50};

}  // namespace

const Matrix& PieceReader::hold(std::int64_t piece) {
    if (piece == held_) return rows_;
    held_ = none;
    rows_ = {};  // freed before another is allocated
    const Stopwatch clock;
    std::optional<Matrix> rows;
    if (piece == ahead_) {
        ahead_ = none;
        try {
            rows = take_ahead();
        } catch (const Error& error) {
            // It did not fit next to the other piece, which is freed by now.
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
    // A deferred read runs here.
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
    } catch (const std::system_error&) {  // no thread available
        reading_ = std::async(std::launch::deferred, read);
    }
    ahead_ = piece;
}

void PieceReader::drop() {
    ahead_ = none;
    if (!reading_.valid()) return;
    dropped_ = true;
    // Releasing the last reference to an asynchronous result waits for it; a deferred one never
    // runs.
    reading_ = {};
    dropped_ = false;
}

}  // namespace kith::groundtruth
