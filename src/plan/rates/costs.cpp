// The work of a search by each path, and the rates that it is multiplied by.
#include "plan/rates/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>

#include "cpu/search/scan/scan_tile.h"
#include "cpu/search/strategies.h"
#include "cpu/tuning.h"
#include "gpu/search/tuning.h"
#include "kith/error.h"
#include "machine/lasting.h"
#include "machine/thread_pool.h"
#include "plan/cost_texts.h"  // generated
#include "plan/rates/json.h"

namespace kith::planner {

namespace {

double& of(Terms& terms, Term term) {
    return terms[static_cast<std::size_t>(term)];
}

// A filter's tile has room for this many queries, and takes as long for fewer.
constexpr double tile_queries = 6;

// The sizes of a search, and how it is shared out among threads.
struct Work {
    Path path;
    double n, q, d, k;
    int threads;  // 0: of a GPU
    bool ready, rows = false;

    Work(Path p, const Request& r, bool is_ready, int t, bool packs)
        : path(p),
          n(static_cast<double>(std::max<std::int64_t>(r.shape.n, 1))),
          q(static_cast<double>(std::max<std::int64_t>(r.shape.q, 1))),
          d(static_cast<double>(std::max<std::int64_t>(r.shape.d, 1))),
          k(std::clamp(static_cast<double>(r.shape.k), 1.0, n)),
          threads(t),
          ready(is_ready || p == Path::exact) {
        // A few queries are compared with the points' own rows, and nothing is packed.
        const bool filter = p == Path::gemm_f32 || p == Path::gemm_bf16 || p == Path::direct_f32;
        rows = filter && t > 0 && !ready && !packs &&
               cpu::rows_serve(r.metric.id, r.shape.type, r.shape.q, r.shape.d);
    }

    bool is_shared() const { return threads > 1 && alone() >= cpu::least_shared_microseconds; }
    bool wakes() const {
        const bool filters = path != Path::exact && path != Path::tree;
        return threads > 1 && (!filters || alone() >= machine::ThreadPool::waking_cost.count());
    }
    bool prepares() const { return !ready && !rows; }
    double preparing() const { return std::max(threads, 1); }
    double answering() const { return wakes() ? threads : 1; }
    // The share of the work that other threads do.
    double apart() const { return threads > 1 ? 1 - 1.0 / threads : 0; }
    double of_threads(double queries) const {
        return std::max(1.0, std::ceil(queries / std::max(threads, 1)));
    }

    // Queries that the scan converts the points for at a time.
    double scan_block() const { return static_cast<double>(scan_tile().queries); }

    // Parts of the points that are searched apart, where the queries are too few for all threads.
    double ranges() const {
        if (threads <= 1 || path == Path::tree) return 1;
        if (path == Path::exact) return scan_ranges();
        if (!is_shared()) return 1;
        const double blocks = std::ceil(q / std::min(most_block(), of_threads(q)));
        return std::clamp(std::ceil(cpu::tasks_of_thread * threads / blocks), 1.0,
                          std::ceil(n / cpu::panel_points));
    }

private:
    double alone() const { return cpu::filter_microseconds(n, q, d); }
    // Queries that a thread filters together.
    double most_block() const {
        return looks_at_less(path) ? cpu::coarse_query_block
               : rows              ? cpu::max_row_queries
                                   : tile_queries * cpu::max_block_tiles;
    }
    strategy::Tile scan_tile() const {
        return cpu::scan_tile(static_cast<std::int64_t>(n), static_cast<std::int64_t>(q),
                              static_cast<std::int64_t>(d), static_cast<std::int64_t>(k),
                              std::max(threads, 1));
    }
    double scan_ranges() const {
        const double blocks = std::ceil(q / scan_block());
        const double tiles = std::ceil(n / static_cast<double>(scan_tile().points));
        const double wanted =
            blocks >= 2.0 * threads ? 1 : std::ceil(cpu::scan_tasks_of_thread * threads / blocks);
        return std::ceil(tiles / std::ceil(tiles / wanted));
    }
};

// Points of the leaves that a query of a tree looks at, if the points are uniform: those in a cube
// about the ball of its neighbours, and half a box on each side.
double visited(const Work& s) {
    constexpr double leaf = cpu::leaf_points, most_dimensions = 300;
    if (s.n <= leaf || s.d > most_dimensions) return s.n;
    const double split = std::min(s.d, std::max(1.0, std::log2(s.n / leaf)));
    const double unit_ball = std::pow(std::numbers::pi, s.d / 2) / std::tgamma(s.d / 2 + 1);
    const double radius = std::pow(s.k / s.n / unit_ball, 1 / s.d);
    const double side = std::pow(leaf / s.n, 1 / split);
    return s.n * std::pow(std::min(1.0, 2 * radius + side), split);
}

// Products with a sample of the points, by which a coarse filter is chosen.
double sample_values(const Work& s) {
    constexpr double least = cpu::least_sample, most = cpu::most_sample, tried_queries = 32;
    const bool directions = s.path == Path::projected;
    const double rows = std::clamp(std::min(s.n / cpu::sampled_share, cpu::sampled_values / s.d),
                                   least, directions ? most : least);
    return std::min(s.n, rows) * s.d *
           (directions ? std::min<double>(cpu::max_directions, std::floor(s.d / 2))
                       : tried_queries);
}

void add_preparing(const Work& s, Terms& w) {
    constexpr double reference_levels = 16;
    const double levels = s.path == Path::tree ? std::log2(s.n + 2) / reference_levels : 1;
    of(w, Term::point) = s.n * levels / s.preparing();
    of(w, Term::point_value) = s.n * s.d * levels / s.preparing();
    of(w, Term::page_value) = s.n * s.d * s.apart();
    if (looks_at_less(s.path)) of(w, Term::sample_value) = sample_values(s) / s.preparing();
}

void add_answers(const Work& s, Terms& w) {
    const double ranges = s.ranges(), part = std::max(s.n / ranges, s.k),
                 queries = s.q / s.answering();
    of(w, Term::query) = queries;
    of(w, Term::query_value) = queries * s.d;
    of(w, Term::kept) = queries * s.k * ranges;
    of(w, Term::kept_value) = queries * s.k * ranges * s.d;
    of(w, Term::offer) = queries * s.k * ranges * (1 + std::log(part / s.k));
    if (ranges > 1) of(w, Term::merge) = queries * s.k * ranges;
    of(w, Term::page_kept) = s.q * s.k * ranges * s.apart();
}

void add_pairs(const Work& s, Terms& w) {
    const bool scans = s.path == Path::exact;
    const double points = s.path == Path::tree ? visited(s) : s.n;
    const double pairs =
        points * (scans || s.rows || s.path == Path::tree ? s.q : std::max(s.q, tile_queries)) /
        s.answering();
    of(w, s.rows ? Term::row_pair : Term::pair) = pairs;
    of(w, s.rows ? Term::row_pair_value : Term::pair_value) = pairs * s.d;
    if (s.path == Path::tree) return;
    of(w, Term::read_value) =
        s.n * s.d * (scans ? std::ceil(s.q / s.scan_block()) : 1) / s.answering();
}

Terms terms_of(const Work& s) {
    Terms w{};
    of(w, Term::call) = 1;
    if (s.prepares()) add_preparing(s, w);
    if (s.threads > 1)
        of(w, Term::wake) = (s.threads - 1) * ((s.wakes() ? 1 : 0) + (s.prepares() ? 1 : 0));
    add_answers(s, w);
    add_pairs(s, w);
    return w;
}

// A GPU, too, measures points ahead of a full scan, and derives a filter's form from a sample.
void add_preparing_on_gpu(const Work& s, Terms& w) {
    constexpr double sampled_rows = 128;
    of(w, Term::point) = s.n;
    if (s.path == Path::exact) return;
    add_preparing(s, w);
    if (s.path != Path::exact && s.path != Path::tree)
        of(w, Term::form_value) = std::min(s.n, sampled_rows) * s.d;
}

Terms terms_on_gpu(const Work& s, const Request& r, bool ready) {
    constexpr double tile = 64, scan_tile = 32;  // queries; a tile takes as long for fewer
    constexpr double result_bytes = sizeof(std::int64_t) + sizeof(float);
    Terms w{};
    of(w, Term::call) = 1;
    if (!ready) add_preparing_on_gpu(s, w);
    add_answers(s, w);
    const bool filters = s.path != Path::exact && s.path != Path::tree;
    const double points = s.path == Path::tree ? visited(s) : s.n;
    const bool by_rows = s.path == Path::exact && !r.metric.user && !r.metric.traits.whole_vector &&
                         r.shape.q <= gpu::tuning::row_scan_queries;
    const double pairs =
        points * (filters                             ? std::ceil(s.q / tile) * tile
                  : s.path == Path::exact && !by_rows ? std::ceil(s.q / scan_tile) * scan_tile
                                                      : s.q);
    of(w, by_rows ? Term::row_pair : Term::pair) = pairs;
    of(w, by_rows ? Term::row_pair_value : Term::pair_value) = pairs * s.d;
    if (s.path != Path::tree && !by_rows) of(w, Term::read_value) = s.n * s.d;
    if (r.data_device == host_memory)
        of(w, Term::byte) =
            ((ready ? 0 : s.n) + s.q) * s.d * static_cast<double>(size_of(r.shape.type)) +
            result_bytes * s.q * s.k;
    return w;
}

}  // namespace

Terms work_of(Path path, const Request& r, bool ready, int threads, bool packs) {
    const Work s(path, r, ready, threads, packs);
    return threads > 0 ? terms_of(s) : terms_on_gpu(s, r, ready);
}

namespace {

const PathRates* rates_of(const CostRates& rates, Path path, std::string_view metric) {
    const PathRates* any = nullptr;
    for (const PathRates& each : rates.paths) {
        if (each.path != path) continue;
        if (each.metric == metric) return &each;
        if (each.metric.empty()) any = &each;
    }
    return any;
}

struct BuiltIn {
    std::vector<CostRates> all;
    const CostRates& named(std::string_view name) const {
        const auto found = std::ranges::find(all, name, &CostRates::name);
        return found == all.end() ? all.front() : *found;
    }
};
constinit machine::Lasting<const BuiltIn> built_in;

std::unique_ptr<const BuiltIn> read_built_in() {
    auto read = std::make_unique<BuiltIn>();
    for (const CostText& file : cost_texts) read->all.push_back(read_costs(file.text, file.name));
    return read;
}

[[noreturn]] void fail(const std::string& origin, const JsonValue& at, const std::string& what) {
    throw Error(ErrorCode::bad_file, fmt::format("{}:{}:{}: {}", origin, at.line, at.column, what));
}

const JsonValue& member(const std::string& origin, const JsonValue& object, std::string_view key,
                        JsonValue::Kind kind) {
    const JsonValue* const value = object.find(key);
    if (!value || value->kind != kind)
        fail(origin, object, fmt::format("'{}' is absent or of another kind", key));
    return *value;
}

}  // namespace

CostRates read_costs(std::string_view text, const std::string& origin) {
    using Kind = JsonValue::Kind;
    const JsonValue root = parse_json(text, origin);
    CostRates rates{member(origin, root, "name", Kind::text).text,
                    member(origin, root, "source", Kind::text).text,
                    {}};
    for (const JsonValue& row : member(origin, root, "paths", Kind::array).items) {
        PathRates& own = rates.paths.emplace_back();
        const std::string& path = member(origin, row, "path", Kind::text).text;
        const auto known =
            std::ranges::find(paths(), path, [](const auto& p) { return name(p.path); });
        if (known == paths().end()) fail(origin, row, fmt::format("path: '{}' is unknown", path));
        own.path = known->path;
        own.metric = member(origin, row, "metric", Kind::text).text;
        for (std::size_t i = 0; i < row.keys.size(); ++i) {
            if (row.keys[i] == "path" || row.keys[i] == "metric") continue;
            const auto term = std::ranges::find(term_names, row.keys[i]);
            const JsonValue& value = row.items[i];
            if (term == term_names.end() || value.kind != Kind::number || !(value.number >= 0))
                fail(origin, value, fmt::format("'{}' is no rate", row.keys[i]));
            own.seconds[static_cast<std::size_t>(term - term_names.begin())] = value.number;
        }
    }
    if (rates.paths.empty()) fail(origin, root, "no rates");
    return rates;
}

const CostRates& built_in_costs(std::string_view isa) {
    return built_in.get(read_built_in).named(isa.starts_with("sm_") ? "sm_90a" : isa);
}

Cost cost_of(const CostRates& rates, Path path, const Request& request, bool ready, int threads,
             bool packs) {
    // The points' own rows are compared alike, whatever filter they stand in for.
    const bool direct = request.metric.traits.direct != metric::Direct::none;
    const Path rated = !Work(path, request, ready, threads, packs).rows ? path
                       : direct                                         ? Path::direct_f32
                                                                        : Path::gemm_f32;
    const PathRates* const own = rates_of(rates, rated, name(request.metric.id));
    if (!own) return {.seconds = std::numeric_limits<double>::infinity()};
    Terms work = work_of(path, request, ready, threads, packs);
    // A scan by a matrix takes d products for each coordinate.
    if (path == Path::exact && request.metric.traits.whole_vector)
        of(work, Term::pair_value) *= static_cast<double>(request.shape.d);
    Cost cost;
    cost.assumed = own->metric.empty() && std::ranges::any_of(rates.paths, [&](const auto& each) {
                       return each.path == rated && !each.metric.empty();
                   });
    for (std::size_t i = 0; i < work.size(); ++i) {
        const auto term = static_cast<Term>(i);
        const double seconds = work[i] * own->seconds[i];
        cost.seconds += seconds;
        if (term == Term::point || term == Term::point_value || term == Term::form_value ||
            term == Term::page_value)
            cost.prepare += seconds;
        if (term == Term::call || term == Term::wake || term == Term::sample_value)
            cost.sample += seconds;
        if (term == Term::pair || term == Term::pair_value || term == Term::row_pair ||
            term == Term::row_pair_value)
            cost.pairs += seconds;
    }
    return cost;
}

}  // namespace kith::planner
