// Every method as one function from data to seconds and neighbours.
#include "papers/methods.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/backend.h"
#include "kith/distances.h"
#include "kith/kith.h"
#include "papers/ann.h"
#include "papers/brute_force.h"
#include "papers/clocks.h"
#include "papers/eigen_heap.h"
#include "papers/octave.h"
#include "papers/truncated_sorts.h"
#include "search/matrix_times.h"

namespace kith::bench::papers {

namespace {

std::string nothing_missing() {
    return "";
}

std::string gpu_missing() {
    return gpu::device_count() > 0 ? "" : "this machine has no GPU that kith can use";
}

const float* values(const Rows& rows) {
    return static_cast<const float*>(rows.view.data);
}

Options on(const char* device, int threads, const Options& given) {
    Options options = given;
    options.device = device;
    if (threads) options.threads = threads;
    return options;
}

Steps loops(const Inputs& data, BruteForceSort sort, std::int64_t* ids) {
    const Shape& s = data.shape;
    BruteForceSteps parts{};
    const Clocks seconds = clocked([&] {
        if (brute_force(values(data.points), s.n, values(data.queries), s.q, s.d, s.k, sort, ids, &parts))
            throw Error(ErrorCode::out_of_memory, "BF-C: no memory for rows of distances");
    });
    return {.total = seconds.processor, .wall = seconds.wall, .distance = parts.distance, .sort = parts.sort};
}

Steps insertion(const Inputs& data, const Options&, std::int64_t* ids) {
    return loops(data, KITH_BENCH_INSERTION_SORT, ids);
}

Steps comb(const Inputs& data, const Options&, std::int64_t* ids) {
    return loops(data, KITH_BENCH_COMB_SORT, ids);
}

Steps octave(const Inputs& data, const char* sort, std::int64_t* ids) {
    const Shape& s = data.shape;
    const Clocks seconds = octave_search(values(data.points), s.n, values(data.queries), s.q, s.d, s.k, sort, ids);
    return {.total = seconds.processor, .wall = seconds.wall};
}

Steps octave_insertion(const Inputs& data, const Options&, std::int64_t* ids) {
    return octave(data, "insertion", ids);
}

Steps octave_sort(const Inputs& data, const Options&, std::int64_t* ids) {
    return octave(data, "sort", ids);
}

Steps ann(const Inputs& data, const Options&, std::int64_t* ids) {
    const Shape& s = data.shape;
    const AnnSeconds seconds = ann_search(values(data.points), s.n, values(data.queries), s.q, s.d, s.k, ids);
    return {.total = seconds.build.processor + seconds.search.processor,
            .wall = seconds.build.wall + seconds.search.wall,
            .prepare = seconds.build.processor};
}

Steps search(const Inputs& data, const Options& options, bool one_core, std::int64_t* ids) {
    const Output out(data.shape.q, data.shape.k, host_memory);
    const Clocks seconds =
        clocked([&] { search_into(data.points.view, data.queries.view, data.shape.k, options, out.view); });
    std::copy_n(out.view.ids, data.shape.q * data.shape.k, ids);
    return {.total = one_core ? seconds.processor : seconds.wall, .wall = seconds.wall};
}

Steps search_core(const Inputs& data, const Options& options, std::int64_t* ids) {
    return search(data, on("cpu", 1, options), true, ids);
}

Steps search_cores(const Inputs& data, const Options& options, std::int64_t* ids) {
    return search(data, on("cpu", 0, options), false, ids);
}

// From host memory to host memory, as BF-CUDA.
Steps search_gpu(const Inputs& data, const Options& options, std::int64_t* ids) {
    return search(data, on("cuda:0", 0, options), false, ids);
}

// The whole matrix of distances, then a selection of each row.
Steps distances_select(const Inputs& data, const Options& options, const std::string& selector, int device,
                       std::int64_t* ids) {
    const Shape& s = data.shape;
    Options selecting = options;
    selecting.selector = selector;
    const Rows matrix(s.q, s.n, ElementType::f32, device);
    const Output out(s.q, s.k, device);
    Steps steps;
    double to = 0;
    Rows points = data.points, queries = data.queries;
    if (device != host_memory) {
        points = Rows(s.n, s.d, ElementType::f32, device);
        queries = Rows(s.q, s.d, ElementType::f32, device);
        to = timed([&] {
            gpu::copy(points.memory.get(), data.points.memory.get(), points.bytes());
            gpu::copy(queries.memory.get(), data.queries.memory.get(), queries.bytes());
        });
    }
    const Clocks of_distances = clocked([&] {
        distances_into(points.view, queries.view, options, {matrix.memory.get(), s.n, device});
    });
    const Clocks of_select = clocked([&] { select_into(matrix.view, s.k, selecting, out.view); });
    const auto bytes = static_cast<std::size_t>(s.q * s.k) * sizeof(std::int64_t);
    const double back = timed([&] { gpu::copy(ids, out.ids.get(), bytes); });
    steps.wall = of_distances.wall + of_select.wall;
    if (device == host_memory) {
        steps.distance = of_distances.processor;
        steps.sort = of_select.processor;
        steps.total = steps.distance + steps.sort;
        return steps;
    }
    steps.distance = of_distances.wall;
    steps.sort = of_select.wall;
    steps.copy = to + back;
    steps.wall += steps.copy;
    steps.total = steps.wall;
    return steps;
}

Steps distances_select_core(const Inputs& data, const Options& options, std::int64_t* ids) {
    return distances_select(data, on("cpu", 1, options), "insertion", host_memory, ids);
}

Steps distances_select_gpu(const Inputs& data, const Options& options, std::int64_t* ids) {
    return distances_select(data, on("cuda:0", 0, options), "insertion-sort", 0, ids);
}

// The selection alone of BF-C's distances, by a truncated sort on one core.
Steps truncated(const Inputs& data, const TruncatedSort sort, std::int64_t* ids) {
    const Shape& s = data.shape;
    Steps steps{.total = 0, .wall = 0, .sort = 0};
    std::vector<SortEntry> entries;
    for (std::int64_t i = 0; i < s.q; ++i) {
        entries.resize(static_cast<std::size_t>(s.n));
        for (std::int64_t j = 0; j < s.n; ++j) {
            float sum = 0;
            for (std::int64_t c = 0; c < s.d; ++c) {
                const float apart = values(data.queries)[i * s.d + c] - values(data.points)[j * s.d + c];
                sum += apart * apart;
            }
            entries[static_cast<std::size_t>(j)] = {sum, static_cast<std::int32_t>(j)};
        }
        const Clocks seconds = clocked([&] { sort(entries, s.k); });
        steps.total += seconds.processor;
        steps.wall += seconds.wall;
        for (std::int64_t j = 0; j < s.k; ++j) ids[i * s.k + j] = entries[static_cast<std::size_t>(j)].id;
    }
    steps.sort = steps.total;
    return steps;
}

// Garcia's kernels apart, from host memory to host memory.
Steps garcia(const Inputs& data, const std::string& selector, std::int64_t* ids) {
    const Shape& s = data.shape;
    const GarciaSteps parts =
        garcia_steps({s.n, s.q, s.d}, s.k, values(data.points), values(data.queries), selector, ids);
    const double total = parts.distance + parts.sort + parts.copy;
    return {.total = total, .wall = total, .distance = parts.distance, .sort = parts.sort, .copy = parts.copy};
}

Steps eigen_heap(const Inputs& data, const Options& options, std::int64_t* ids) {
    const Shape& s = data.shape;
    const double seconds =
        eigen_search(values(data.points), s.n, values(data.queries), s.q, s.d, s.k, options.threads, ids);
    return {.total = seconds, .wall = seconds};
}

// From device memory to device memory; the planner's choice where there is no path.
Steps search_by_path(const Inputs& data, const Options& options, const std::string& path, bool copies,
                     std::int64_t* ids) {
    const Shape& s = data.shape;
    Options chosen = on("cuda:0", 0, options);
    chosen.path = path;
    const Rows points(s.n, s.d, ElementType::f32, 0), queries(s.q, s.d, ElementType::f32, 0);
    const Output out(s.q, s.k, 0);
    const double to = timed([&] {
        gpu::copy(points.memory.get(), data.points.memory.get(), points.bytes());
        gpu::copy(queries.memory.get(), data.queries.memory.get(), queries.bytes());
    });
    const double search = timed([&] { search_into(points.view, queries.view, s.k, chosen, out.view); });
    const auto cells = static_cast<std::size_t>(s.q * s.k);
    std::vector<float> distances(cells);
    const double back = timed([&] {
        gpu::copy(ids, out.ids.get(), cells * sizeof(std::int64_t));
        gpu::copy(distances.data(), out.distances.get(), cells * sizeof(float));
    });
    Steps steps{.total = search, .wall = search};
    if (copies) {
        steps.copy = to + back;
        steps.wall = steps.total += steps.copy;
    }
    return steps;
}

Rows uniform_rows(std::int64_t rows, std::int64_t d, std::uint64_t seed) {
    return rows_of(Recipe{.data = bench::Data::uniform, .seed = seed}, rows, d, ElementType::f32, host_memory);
}

}  // namespace

Inputs::Inputs(const Shape& s, const Options& options)
    : shape(s), points(uniform_rows(s.n, s.d, points_seed)), queries(uniform_rows(s.q, s.d, queries_seed)) {
    ids.resize(static_cast<std::size_t>(s.q * s.k));
    const char* const device = options.device == "cpu" || gpu::device_count() == 0 ? "cpu" : "cuda:0";
    search_into(points.view, queries.view, s.k, on(device, 0, options), {ids.data(), nullptr, host_memory});
}

const std::vector<Method>& methods() {
    static const std::vector<Method> all = {
        {"octave", "distances of a query as one expression, insertion sort in Octave's interpreter", false,
         octave_missing, octave_insertion},
        {"octave-sort", "the same with Octave's sort of all distances", false, octave_missing, octave_sort},
        {"bf-c", "plain loops in C on one core, insertion sort", false, nothing_missing, insertion},
        {"bf-c-comb", "the same with the comb sort of all distances", false, nothing_missing, comb},
        {"ann", "ANN, k-d tree and exact search on one core, building included", false, ann_missing, ann},
        {"eigen-heap", "Eigen's product of matrices and a binary heap for each query, on all cores", false,
         eigen_missing, eigen_heap},
        {"kith-1", "kith::search on one core", false, nothing_missing, search_core},
        {"kith", "kith::search on all cores", false, nothing_missing, search_cores},
        {"kith-gpu", "kith::search on a GPU, copies from and to host memory included", true, gpu_missing, search_gpu},
        {"steps-1",
         "kith::distances, the whole matrix in canonical bits, then kith::select with insertion, on one "
         "core",
         false, nothing_missing, distances_select_core},
        {"steps-gpu", "kith::distances, then kith::select with insertion-sort, and the copies, on a GPU", true,
         gpu_missing, distances_select_gpu},
    };
    return all;
}

Method method_named(const std::string& name) {
    std::string names;
    for (const Method& each : methods()) {
        if (each.name == name) return each;
        names += each.name + ", ";
    }
    if (name.starts_with("steps:")) {
        const auto run = [selector = name.substr(6)](const Inputs& data, const Options& options, std::int64_t* ids) {
            return distances_select(data, on("cuda:0", 0, options), selector, 0, ids);
        };
        return {name, "", true, gpu_missing, run};
    }
    if (name.starts_with("garcia:")) {
        const auto run = [selector = name.substr(7)](const Inputs& data, const Options&, std::int64_t* ids) {
            return garcia(data, selector, ids);
        };
        return {name, "", true, gpu_missing, run};
    }
    for (const NamedSort& each : truncated_sorts()) {
        if (name != fmt::format("sort:{}", each.name)) continue;
        const auto run = [sort = each.sort](const Inputs& data, const Options&, std::int64_t* ids) {
            return truncated(data, sort, ids);
        };
        return {name, "", false, nothing_missing, run};
    }
    for (const bool copies : {false, true}) {
        const std::string_view prefix = copies ? "copies:" : "path:";
        if (!name.starts_with(prefix)) continue;
        const std::string path = name.substr(prefix.size());
        const auto run = [path, copies](const Inputs& data, const Options& options, std::int64_t* ids) {
            return search_by_path(data, options, path, copies, ids);
        };
        return {name, "", true, gpu_missing, run};
    }
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format(
            "method: '{}'; expected one of {}path:NAME, copies:NAME, steps:SELECTOR, garcia:SELECTOR, sort:NAME", name,
            names));
}

}  // namespace kith::bench::papers
