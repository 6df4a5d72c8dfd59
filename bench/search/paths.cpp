// Tables of paths: each cell searches one Index by the fused path and by those of two steps.
#include "search/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "arrays.h"
#include "cell_file.h"
#include "gpu/backend.h"
#include "kith/kith.h"
#include "timing.h"

namespace kith::bench {

namespace {

enum class Axis : std::uint8_t { n, q, k };
constexpr const char* axis_names[] = {"n", "q", "k"};

struct Panel {
    Axis axis;
    std::vector<std::int64_t> at, quick_at;
    Shape shape;  // what does not vary
    bool quick = true;
};

struct PathTable {
    std::string name, paper, said;
    std::string fused;
    std::vector<std::string> apart;  // paths of two steps
    std::vector<Panel> panels;
};

Shape shape_at(const Panel& panel, std::int64_t x) {
    Shape shape = panel.shape;
    (panel.axis == Axis::n ? shape.n : panel.axis == Axis::q ? shape.q : shape.k) = x;
    return shape;
}

std::vector<std::int64_t> powers(int first, int last, int step = 1) {
    std::vector<std::int64_t> out;
    for (int i = first; i <= last; i += step) out.push_back(std::int64_t{1} << i);
    return out;
}

std::vector<PathTable> tables() {
    const std::vector<std::string> bits = {"register-tiled+bits", "kuang-zhao+bits"};
    PathTable eight{"hanak-5.8",
                    "Hanak 2023, Fig. 5.8: the fused kernel beside register-tiled distances and bits",
                    "on a V100: faster for d up to 32, above all for k up to 64; slower beyond",
                    "hanak-fused",
                    bits,
                    {}};
    for (const std::int64_t d : {4, 8, 16, 32, 64, 128})
        eight.panels.push_back({.axis = Axis::k,
                                .at = {8, 16, 32, 64, 96, 127, 256},
                                .quick_at = {16, 64, 127},
                                .shape = {.n = 1 << 19, .q = 1 << 13, .d = d},
                                .quick = d == 8 || d == 32 || d == 128});
    PathTable nine{"hanak-5.9",
                   "Hanak 2023, Fig. 5.9: the fused kernel by queries and points",
                   "on a V100: needs 8,000 queries to reach its peak, more than bits does",
                   "hanak-fused",
                   bits,
                   {}};
    for (const int log_n : {15, 17, 19, 21})
        nine.panels.push_back({.axis = Axis::q,
                               .at = powers(7, 14),
                               .quick_at = {1 << 8, 1 << 13},
                               .shape = {.n = std::int64_t{1} << log_n, .d = 16, .k = 32},
                               .quick = log_n == 17 || log_n == 19});
    PathTable three{
        "sismanis-fig3",
        "Sismanis et al. 2012, Fig. 3: distances and sorting interleaved by segments, and one after the other",
        "on a GTX 480, one query: up to 2.4 times as fast",
        "sismanis-segments",
        {"baseline+truncated-bitonic", "register-tiled+truncated-bitonic", "kuang-zhao+truncated-bitonic"},
        {}};
    for (const std::int64_t q : {1, 128})
        for (const std::int64_t k : {8, 32, 128, 512})
            three.panels.push_back({.axis = Axis::n,
                                    .at = powers(12, 20),
                                    .quick_at = powers(12, 20, 4),
                                    .shape = {.q = q, .d = 128, .k = k},
                                    .quick = k == 32});
    PathTable twelve{
        "hanak-5.12",
        "Hanak 2023, Fig. 5.12: whole searches by distance kernel and selector",
        "on a V100: the fused kernel for d up to 32 and k up to 64, bits to k 2048, bits-global at 4096, sample "
        "select beyond",
        "hanak-fused",
        {"register-tiled+bits", "register-tiled+bits-global", "register-tiled+sample-select-1",
         "register-tiled+radix-select"},
        {}};
    for (const std::int64_t d : {4, 16, 32, 128})
        twelve.panels.push_back({.axis = Axis::k,
                                 .at = {16, 32, 64, 96, 256, 512, 1024, 2047, 2048, 4096, 8192},
                                 .quick_at = {16, 1024},
                                 .shape = {.n = 1 << 17, .q = 1 << 13, .d = d},
                                 .quick = d == 16});
    return {eight, nine, twelve, three};
}

// Points and queries, uniform in [0, 1)^d, on the device; an Index for each path.
struct Inputs {
    Rows points, queries;
    std::map<std::string, std::unique_ptr<Index>> indexes;

    Inputs(const Shape& s, int device)
        : points(rows_of(Recipe{.data = Data::uniform, .seed = points_seed}, s.n, s.d, ElementType::f32, device)),
          queries(rows_of(Recipe{.data = Data::uniform, .seed = queries_seed}, s.q, s.d, ElementType::f32, device)) {}
    const Index& of(const Options& options) {
        std::unique_ptr<Index>& index = indexes[options.path];
        if (!index) index = std::make_unique<Index>(points.view, options);
        return *index;
    }
};

struct Answer {
    std::vector<std::int64_t> ids;
    std::vector<float> distances;
    bool operator==(const Answer& other) const {
        return ids == other.ids &&
               std::memcmp(distances.data(), other.distances.data(), distances.size() * sizeof(float)) == 0;
    }
};

class Runs {
public:
    Runs(const TableStudy& study, const Options& options, int device)
        : study_(study), options_(options), device_(device) {
        options_.device = "cuda:" + std::to_string(device);
    }

    bool run(const PathTable& table) {
        std::vector<std::string> paths{table.fused};
        std::ranges::copy(table.apart, std::back_inserter(paths));
        const std::string name = gpu::device_info(device_).name;
        fmt::print("{}\n({})\n{}, uniform f32 and an Index on the device; {} in ms\n{:>9} {:>7} {:>5} {:>5}",
                   table.paper, table.said, name,
                   study_.mean ? "means of 10 runs behind 10" : fmt::format("medians of {}", study_.repeat), "n", "q",
                   "d", "k");
        for (const std::string& path : paths) fmt::print(" {:>28}", path);
        fmt::print(" {:>10} {:>10} {:>10}\n", "G pairs/s", "speed-up", "same bits");
        Json document = head(name, study_.quick);
        document["table"] = table.paper;
        document["said"] = table.said;
        document["repeat"] = study_.repeat;
        document["statistic"] = study_.mean ? "mean" : "median";
        CellFile file(std::move(document), "cells", study_.json, study_.resume, study_.deadline);
        bool equal = true;
        for (const Panel& panel : table.panels) {
            if (study_.quick && !panel.quick) continue;
            for (const std::int64_t x : study_.quick ? panel.quick_at : panel.at) {
                const Shape s = shape_at(panel, x);
                const Json key{
                    {"axis", axis_names[static_cast<int>(panel.axis)]}, {"n", s.n}, {"q", s.q}, {"d", s.d}, {"k", s.k}};
                const Json& cell = file.cell(key, [&](Json& json) { measure(paths, s, json); });
                print(paths, cell);
                equal &= cell.at("same_bits").get<bool>();
            }
            fmt::print("\n");
        }
        return equal;
    }

private:
    const char* seconds_name() const { return study_.mean ? "mean_s" : "median_s"; }
    double seconds_of(const Timing& timing) const { return study_.mean ? timing.mean() : timing.median(); }

    // For a path, or nothing where it refuses the shape.
    std::unique_ptr<Timing> time(const std::string& path, const Shape& s, Answer& answer) {
        Options options = options_;
        options.path = path;
        const Output out(s.q, s.k, device_);
        try {
            const Index& index = inputs_->of(options);
            const auto call = [&] { return index.search_into(inputs_->queries.view, s.k, options, out.view); };
            auto timing =
                std::make_unique<Timing>(study_.mean ? repeated_for_mean(call) : repeated(study_.repeat, call));
            answer.ids.resize(static_cast<std::size_t>(s.q * s.k));
            answer.distances.resize(answer.ids.size());
            gpu::copy(answer.ids.data(), out.ids.get(), answer.ids.size() * sizeof(std::int64_t));
            gpu::copy(answer.distances.data(), out.distances.get(), answer.distances.size() * sizeof(float));
            return timing;
        } catch (const Error& error) {
            if (error.code() != ErrorCode::invalid_argument) throw;
            return nullptr;
        }
    }

    void measure(const std::vector<std::string>& paths, const Shape& s, Json& json) {
        if (!inputs_ || at_.n != s.n || at_.q != s.q || at_.d != s.d) inputs_ = std::make_unique<Inputs>(s, device_);
        at_ = s;
        Answer expected;
        if (const std::unique_ptr<Timing> own = time("", s, expected))
            json["own"] = {{"path", own->report.path}, {seconds_name(), seconds_of(*own)}};
        json["paths"] = Json::array();
        bool same = true;
        double fused = 0, apart = 0;  // seconds; 0: refused
        for (const std::string& path : paths) {
            Answer answer;
            const std::unique_ptr<Timing> timing = time(path, s, answer);
            if (!timing) continue;
            const double seconds = seconds_of(*timing);
            if (path == paths.front()) fused = seconds;
            else apart = apart > 0 ? std::min(apart, seconds) : seconds;
            same &= answer == expected;
            json["paths"].push_back({{"path", path},
                                     {seconds_name(), seconds},
                                     {"min_s", timing->seconds.front()},
                                     {"max_s", timing->seconds.back()},
                                     {"deviation_s", timing->deviation()},
                                     {"certified", timing->report.certified}});
        }
        json["same_bits"] = same;
        if (fused > 0 && apart > 0) json["speed_up"] = apart / fused;
    }

    void print(const std::vector<std::string>& paths, const Json& cell) const {
        const auto count = [&](const char* name) { return cell.at(name).get<std::int64_t>(); };
        fmt::print("{:>9} {:>7} {:>5} {:>5}", count("n"), count("q"), count("d"), count("k"));
        double fused = 0;
        for (const std::string& path : paths) {
            const Json& timed = cell.at("paths");
            const auto found = std::ranges::find_if(timed, [&](const Json& each) { return each.at("path") == path; });
            if (found == timed.end()) {
                fmt::print(" {:>28}", "-");
                continue;
            }
            const double seconds = found->at(seconds_name()).get<double>();
            if (path == paths.front()) fused = seconds;
            fmt::print(" {:>28.3f}", 1e3 * seconds);
        }
        const double pairs = static_cast<double>(count("n")) * static_cast<double>(count("q"));
        fmt::print(" {:>10} {:>10} {:>10}\n", fused > 0 ? fmt::format("{:.1f}", 1e-9 * pairs / fused) : "-",
                   cell.contains("speed_up") ? fmt::format("{:.2f}", cell["speed_up"].get<double>()) : "-",
                   cell.at("same_bits").get<bool>() ? "yes" : "NO");
        std::fflush(stdout);
    }

    const TableStudy& study_;
    Options options_;
    int device_;
    Shape at_;
    std::unique_ptr<Inputs> inputs_;
};

}  // namespace

std::vector<std::string> path_tables() {
    std::vector<std::string> names;
    for (const PathTable& table : tables()) names.push_back(table.name);
    return names;
}

bool run_paths(const TableStudy& study, const Options& options) {
    for (const PathTable& table : tables()) {
        if (table.name != study.table) continue;
        const int device = plan({1, 1, 1, 1}, options).device;
        if (device == host_memory) {
            const std::string why = gpu::absence();
            throw Error(ErrorCode::device, "fused kernels: needs a GPU" + (why.empty() ? "" : "; " + why));
        }
        return Runs(study, options, device).run(table);
    }
    throw Error(ErrorCode::invalid_argument, "table: '" + study.table + "' is not one of paths");
}

}  // namespace kith::bench
