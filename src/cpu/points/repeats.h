// Equal rows among the points. Of more equal rows than a search wants neighbours only those with
// the smallest ids can be among them: the others need not be candidates.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "exact/progress.h"
#include "kith/types.h"

namespace kith::cpu {

class Repeats {
public:
    // Whether one row of a sample repeats as often as rows do that fill lists of candidates.
    static bool likely(const MatrixView& rows);
    // Null where no row has many equal ones before it, or memory is short. Polls `progress` as
    // stage "prepare" and throws where it is cancelled.
    static std::shared_ptr<const Repeats> count(const MatrixView& rows, int threads,
                                                ProgressMeter& progress);

    // Whether at least `wanted` rows with smaller ids have the same bits as row `id`.
    bool has_before(std::int64_t id, std::int64_t wanted) const {
        return earlier_[static_cast<std::size_t>(id)] >= wanted;
    }

private:
    std::vector<std::uint32_t>
        earlier_;  // per row: how many rows with smaller ids have the same bits, or fewer
};

}  // namespace kith::cpu
