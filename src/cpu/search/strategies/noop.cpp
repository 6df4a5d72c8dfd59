// Strategy noop: answers no query and leaves all. Tests put it first in a chain, whose answers it
// must not change.
#include "cpu/search/nearest_call.h"
#include "cpu/search/strategies.h"

namespace kith::cpu {

namespace {

const char* nearest(NearestCall&, const strategy::Queries& queries, strategy::Numbers& left) {
    for (std::int64_t i = 0; i < queries.count; ++i) left.push_back(queries.number(i));
    return nullptr;
}

}  // namespace

constinit const Strategy strategies::noop{
    .facts = {.name = "noop", .what = "answers nothing, and leaves all"}, .nearest = nearest};

}  // namespace kith::cpu
