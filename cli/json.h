// Shapes, plans, reports and results as JSON. Numbers that JSON lacks (infinities, NaN) become null.
#pragma once

#include <nlohmann/json.hpp>

#include "kith/kith.h"
#include "kith/schedule.h"

namespace kith::cli {

using Json = nlohmann::ordered_json;

Json to_json(const Shape& shape);
Json to_json(const Metric& metric);
Json to_json(const Plan& plan);
Json to_json(const GraphSchedule& schedule);
Json to_json(const Report& report);
// The first rows, whole: {"rows": r, "ids": [[...]], "distances": [[...]]}.
Json first_rows_json(const Neighbors& neighbors);

// One object and a newline on standard output.
void print_json(const Json& object);

}  // namespace kith::cli
