// The piece of the rows that is searched, and the one that a thread reads meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>

#include "jobs/rows.h"
#include "jobs/stop.h"

namespace kith::groundtruth {

// Pieces are known by their number. The rows and `stop` must outlive it.
class PieceReader {
public:
    PieceReader(const Rows& rows, Stop& stop) : of_(rows), stop_(stop) {}
    ~PieceReader() { drop(); }
    PieceReader(const PieceReader&) = delete;
    PieceReader& operator=(const PieceReader&) = delete;

    // The piece: held, read ahead, or read now. The one before is gone. Throws what read_piece()
    // throws.
    const Matrix& hold(std::int64_t piece);
    // Reads it while the other is searched, in place of what was read ahead and not wanted. Errors
    // show in hold().
    void read_ahead(std::int64_t piece);
    // Whether it is held or read ahead.
    bool has(std::int64_t piece) const { return piece == held_ || piece == ahead_; }
    double waited_seconds() const { return waited_; }  // in hold()

private:
    static constexpr std::int64_t none = -1;

    Matrix take_ahead();
    void drop();

    const Rows& of_;
    Stop& stop_;
    std::int64_t held_ = none, ahead_ = none;
    Matrix rows_;
    double waited_ = 0;
    std::atomic<bool> dropped_ = false;
    std::future<Matrix> reading_;
};

}  // namespace kith::groundtruth
