// One pass of the direct filter: the metric itself in f32 (exact/direct_form.h), every value
// compared with its query's threshold in registers, as the fused filter does with products
// (pass.h).
#pragma once

#include "gpu/filter/pass.h"

namespace kith::gpu {

// Rows lie in panels of filter_tile_queries (both sides alike): the first word of each of its rows,
// then the second, and so on; rows of `width` words, zeros beyond the last coordinate and the last
// row.

// The form for points of that type: sets are bits here.
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

// Where word i of a row lies.
KITH_HD std::int64_t direct_place(std::int64_t row, std::int64_t i, std::int64_t width) {
    return (row / filter_tile_queries * width + i) * filter_tile_queries +
           row % filter_tile_queries;
}

void direct_pass(const FilterPass& pass, cudaStream_t stream);
// The same of steps that count bits (exact::counts_bits). Half norms of points are their sizes, how
// many bits are set, and tie_share; +inf as elsewhere.
void bits_pass(const FilterPass& pass, cudaStream_t stream);

}  // namespace kith::gpu
