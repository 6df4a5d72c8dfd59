// One pass of the direct filter: the metric itself in f32 (exact/direct_form.h). Every value is
// compared with its query's threshold in registers, as in the fused filter (pass.h).
#pragma once

#include "gpu/filter/pass.h"

namespace kith::gpu {

// Queries and points lie in panels of filter_tile_queries rows: the first word of each row, then
// the second, and so on. Rows have `width` words, with zeros past the last coordinate and the last
// row.

// The direct form for points of that type; on the GPU, sets are bits.
inline std::optional<exact::DirectForm> gpu_direct_form(const metric::Traits& traits,
                                                        const metric::Params& params,
                                                        ElementType type) {
    std::optional<exact::DirectForm> form = exact::direct_form(traits, params, type);
    if (form && form->coordinates == exact::Coordinates::indicators) {
        form->coordinates = exact::Coordinates::sets;
        form->step = form->step == exact::Step::jaccard_sets ? exact::Step::jaccard_bits
                                                             : exact::Step::dice_bits;
    }
    return form;
}

// Words per row.
inline std::int64_t direct_width(const exact::DirectForm& form, std::int64_t d) {
    const std::int64_t per_word = exact::coordinates_per_word(form);
    return (d + per_word - 1) / per_word;
}

// The index of word i of a row.
KITH_HD std::int64_t direct_place(std::int64_t row, std::int64_t i, std::int64_t width) {
    return (row / filter_tile_queries * width + i) * filter_tile_queries +
           row % filter_tile_queries;
}

}  // namespace kith::gpu
