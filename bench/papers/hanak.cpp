// Hanak 2023, "Meeting the challenges of k-nearest neighbour search on GPUs": Figs. 5.13 and 5.14, whole searches.
//
// Squared Euclidean distances of points in [0, 1]^d on a Tesla V100; the figures have no tables, so only what the text
// says stands next to. The thesis' MAGMA kernel is register-tiled.
#include <fmt/format.h>

#include "papers/table.h"

namespace kith::bench::papers {

namespace {

std::vector<Line> lines(std::initializer_list<const char*> methods) {
    std::vector<Line> all;
    for (const char* const each : methods) all.push_back({.method = each});
    return all;
}

Panel by_k(std::int64_t n, std::int64_t q, std::int64_t d, std::vector<std::int64_t> at, std::vector<Line> methods) {
    return {.title = fmt::format("n {}, q {}, d {}", n, q, d),
            .axis = Axis::k,
            .at = std::move(at),
            .shape = {.n = n, .q = q, .d = d},
            .lines = std::move(methods)};
}

PaperTable beside_a_cpu() {
    PaperTable table{.name = "hanak-fig-5-13",
                     .title = "Searches on a GPU and on a CPU",
                     .paper = "Hanak 2023, Fig. 5.13 (Eigen, binary heaps and OpenMP)"};
    for (const std::int64_t d : {4, 16, 64, 128})
        table.panels.push_back(by_k(std::int64_t{1} << 21, 1000, d, {16, 128, 1024},
                                    lines({"eigen-heap", "kith", "path:register-tiled+bits", "path:"})));
    table.log_x = table.log_y = true;
    table.quick_n = 1 << 14;
    return table;
}

PaperTable with_copies() {
    PaperTable table{.name = "hanak-fig-5-14",
                     .title = "Shares of the copies from and to host memory",
                     .paper = "Hanak 2023, Fig. 5.14 (copies are a small share of few dimensions)",
                     .shows = Shows::shares};
    for (const std::int64_t k : {16, 1024})
        table.panels.push_back({.title = fmt::format("n 2097152, q 1000, k {}", k),
                                .axis = Axis::d,
                                .at = {4, 16, 64, 128, 256},
                                .shape = {.n = std::int64_t{1} << 21, .q = 1000, .k = k},
                                .lines = lines({"copies:register-tiled+bits", "copies:"})});
    table.quick_n = 1 << 14;
    return table;
}

}  // namespace

std::vector<PaperTable> hanak_searches() {
    return {beside_a_cpu(), with_copies()};
}

}  // namespace kith::bench::papers
