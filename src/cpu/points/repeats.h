// Duplicate rows (repeats) among the points. Among equal rows only the k with the smallest ids can
// be among a query's k neighbours: the others need not be candidates.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "exact/report/progress.h"
#include "kith/types.h"

namespace kith::cpu {

class Repeats {
public:
    // True if one row of a sample has as many duplicates as overflow candidate lists.
    static bool likely(const MatrixView& rows);
    // Null where no row has many duplicates with smaller ids, or memory is short. Polls `progress`
    // as stage "prepare" and throws when it is cancelled.
    static std::shared_ptr<const Repeats> count(const MatrixView& rows, int threads,
                                                ProgressMeter& progress);

    // True if at least `wanted` rows with smaller ids have the same bits as row `id`.
    bool has_before(std::int64_t id, std::int64_t wanted) const {
        return earlier_[static_cast<std::size_t>(id)] >= wanted;
    }

private:
    // Per row: the number of equal rows with smaller ids, or less.
    std::vector<std::uint32_t> earlier_;
};

}  // namespace kith::cpu
