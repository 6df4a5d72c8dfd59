// The direct forms of the filter: which step evaluates a metric in f32, on what coordinates, and what of the distance
// key it may be wrong by (docs/exactness.md, section 6).
#pragma once

#include <limits>
#include <optional>

#include "cpu/filter/bound.h"
#include "kith/types.h"
#include "metric/metric.h"

namespace kith::cpu {

// The words of a row.
enum class Coordinates {
    exact,  // f32, where that holds the coordinate
    roots,  // f32, rounded: the root of the coordinate
    i8,
    u8,  // four to a word, where they are whole numbers of that type
};

struct DirectForm {
    Step step = Step::cityblock;
    float exponent = 0;  // of Step::powers
    Coordinates coordinates = Coordinates::exact;
    double degree = 0;  // coordinates times t have t^degree times the key, and may be scaled; 0: they are not
    // Magnitudes other than 0 of coordinates that the bound covers.
    double smallest = 0, largest = std::numeric_limits<double>::infinity();
    DirectError error;
};

// Of points with elements of that type; none where f32 cannot serve.
std::optional<DirectForm> direct_form(const metric::Traits& traits, const metric::Params& params, ElementType type);

}  // namespace kith::cpu
