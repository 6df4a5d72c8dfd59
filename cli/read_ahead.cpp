// Reads ahead, one thread for what is read.
#include "read_ahead.h"

#include <system_error>
#include <utility>

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

}  // namespace kith::cli
