// Sismanis, Pitsianis, Sun 2012, "Parallel Search of k-Nearest Neighbors with Synchronous Operations": Fig. 4, what
// copies, distances and selection take of a search. The figure has no numbers. Distances are kith's, in binary64.
#include <fmt/format.h>

#include "papers/table.h"
#include "papers/truncated_sorts.h"

namespace kith::bench::papers {

namespace {

// Table 1's serial half by time: every truncated sort on one core, of the same distances.
PaperTable serial_sorts() {
    PaperTable table{.name = "sismanis-sorts-cpu",
                     .title = "The truncated sorts on one core, without the distances",
                     .paper = "Sismanis et al. 2012, Table 1, serial (orders of growth; no seconds)"};
    std::vector<Line> lines;
    for (const NamedSort& each : truncated_sorts()) lines.push_back({.method = fmt::format("sort:{}", each.name)});
    for (const std::int64_t q : {1, 128}) {
        table.panels.push_back({.title = fmt::format("q {}, d 128, k 32", q),
                                .axis = Axis::n,
                                .at = {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20},
                                .shape = {.q = q, .d = 128, .k = 32},
                                .lines = lines});
        table.panels.push_back({.title = fmt::format("q {}, d 128, n 65536", q),
                                .axis = Axis::k,
                                .at = {8, 16, 32, 64, 128, 256},
                                .shape = {.n = 1 << 16, .q = q, .d = 128},
                                .lines = lines});
    }
    table.log_x = table.log_y = true;
    table.quick_n = 1 << 12;
    return table;
}

}  // namespace

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
    return {table, serial_sorts()};
}

}  // namespace kith::bench::papers
