// Half norms as terms of the sums of numbers of 8 bits.
#include <algorithm>

#include "gpu/filter/bytes.h"
#include "gpu/filter/levels.h"
#include "gpu/points/projection.h"
#include "gpu/points/tuning.h"

namespace kith::gpu {

ByteTermRows make_byte_terms(const ProjectedVectors& points, std::int64_t n, int planes,
                             cudaStream_t stream) {
    ByteTermRows out{.form = {.planes = planes}, .rows = {}};
    if (2 * points.directions.form.width > most_augmented_bytes) return out;
    const auto* const half_norm = reinterpret_cast<const int*>(points.half_norm.get());
    const ByteRange range = byte_range(half_norm, n, 2 * tuning::one_beyond, stream);
    if (range.most < range.least || range.always > 0) return out;
    // Thresholds lie below most half norms: the base is as low as these allow. Of the highest a few
    // may lie beyond and are lowered, which lets more pass; the lowest would be raised.
    const int reach = out.form.reach();
    out.form.base = std::min(range.most - reach, range.least + reach - 1);
    if (count_beyond(half_norm, n, out.form.base + reach, stream) > n / tuning::one_beyond)
        return out;
    out.rows = Buffer<char>(whole_tiles(n) * byte_terms * planes, stream);
    augment_byte_points(half_norm, whole_tiles(n), out.form, out.rows.get(), stream);
    return out;
}

}  // namespace kith::gpu
