// Holds the piece of rows being searched, and reads the next one in a thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>

#include "jobs/rows.h"
#include "jobs/stop.h"

namespace kith::groundtruth {

// Pieces are identified by number. The rows and `stop` must outlive the object.
class PieceReader {
public:
    PieceReader(const Rows& rows, Stop& stop) : of_(rows), stop_(stop) {}
    ~PieceReader() { drop(); }
    PieceReader(const PieceReader&) = delete;
    PieceReader& operator=(const PieceReader&) = delete;

    // Returns the piece: already held, read ahead, or read now. It frees the previous one. Throws
    // what read_piece() throws.
    const Matrix& hold(std::int64_t piece);
    // Starts reading a piece while another is searched; it replaces an unused earlier read. hold()
    // throws its errors.
    void read_ahead(std::int64_t piece);
    // True if the piece is held or being read ahead.
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
