// Sismanis, Pitsianis, Sun 2012, "Parallel Search of k-Nearest Neighbors with Synchronous Operations": Fig. 4, what
// copies, distances and selection take of a search. The figure has no numbers. Distances are kith's, in binary64.
#include <fmt/format.h>

#include "papers/table.h"

namespace kith::bench::papers {

std::vector<PaperTable> sismanis_searches() {
    PaperTable table{
        .name = "sismanis-fig-4",
        .title = "Shares of distances, selection and copies, by a full sort and by truncation",
        .paper = "Sismanis et al. 2012, Fig. 4 (copies must not be ignored; many queries make up for them)",
        .shows = Shows::shares};
    for (const std::int64_t q : {1, 128})
        table.panels.push_back(
            {.title = fmt::format("q {}, d 128, k 32", q),
             .axis = Axis::n,
             .at = {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20},
             .shape = {.q = q, .d = 128, .k = 32},
             .lines = {{.method = "steps:radix-sort-streams"}, {.method = "steps:truncated-bitonic"}}});
    table.quick_n = 1 << 14;
    return {table};
}

}  // namespace kith::bench::papers
