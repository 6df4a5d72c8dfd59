// Reads ahead, one thread for what is read.
#include "read_ahead.h"

#include <optional>
#include <system_error>
#include <utility>

#include "kith/error.h"
#include "print.h"

namespace kith::cli {

void ReadAhead::start(std::function<Matrix()> read) {
    drop();
    try {
        rows_ = std::async(std::launch::async, read);
    } catch (const std::system_error&) {  // no thread can be had
        rows_ = std::async(std::launch::deferred, std::move(read));
    }
}

Matrix ReadAhead::take() {
    const Stopwatch clock;
    Matrix rows = rows_.get();
    waited_ += clock.seconds();
    return rows;
}

void ReadAhead::drop() {
    if (!rows_.valid()) return;
    dropped_ = true;
    // The last to hold an asynchronous result waits for it; one that was put off is never made.
    rows_ = {};
    dropped_ = false;
}

const Matrix& PieceReader::hold(std::int64_t piece) {
    if (piece == held_) return rows_;
    held_ = none;
    rows_ = {};  // before another takes its room
    std::optional<Matrix> rows;
    if (piece == ahead_) {
        ahead_ = none;
        try {
            rows = reading_.take();
        } catch (const Error& error) {
            // Beside the other piece, which is gone now.
            if (error.code() != ErrorCode::out_of_memory) throw;
        }
    }
    if (!rows) {
        static const std::atomic<bool> wanted{false};
        const Stopwatch clock;
        rows = read_(piece, wanted);
        waited_ += clock.seconds();
    }
    rows_ = std::move(*rows);
    held_ = piece;
    return rows_;
}

void PieceReader::read_ahead(std::int64_t piece) {
    if (has(piece)) return;
    ahead_ = none;
    reading_.start([this, piece] { return read_(piece, reading_.dropped()); });
    ahead_ = piece;
}

}  // namespace kith::cli
