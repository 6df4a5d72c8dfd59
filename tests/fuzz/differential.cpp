// The differential fuzzer: random searches, graphs, searches by radius, matches and selections through every entry
// point, each against the oracle.
//
//     differential [--seed S] [--trials N | --seconds T] [--device cpu|cuda]
//
// Trial i has the seed S + i and nothing else to depend on: what fails is printed as the command that repeats it alone.
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

#include "kith/match.h"
#include "radius_cases.h"
#include "random_case.h"
#include "search_cases.h"
#include "select_cases.h"
#include "truth.h"

namespace {

using random_case::Case;
using random_case::chance;
using random_case::one_of;
using random_case::Random;

constexpr unsigned most_seconds = 120;  // of one trial

char running[256];  // the command that repeats the trial that runs, for a signal's handler

void on_signal(int signal) {
    const char* const what = signal == SIGALRM ? "\nHANGS: " : "\nCRASHED: ";
    (void)!write(2, what, std::strlen(what));
    (void)!write(2, running, std::strlen(running));
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

// Memory of a result with a margin that nobody may write.
template <class T>
class Guarded {
public:
    explicit Guarded(std::size_t count) : values_(count + 2 * margin) {
        std::memset(values_.data(), 0x5a, values_.size() * sizeof(T));
    }
    T* get() { return values_.data() + margin; }
    std::vector<T> result() const { return {values_.begin() + margin, values_.end() - margin}; }
    bool intact() const {
        T untouched;
        std::memset(&untouched, 0x5a, sizeof untouched);
        for (std::size_t i = 0; i < margin; ++i)
            if (std::memcmp(&values_[i], &untouched, sizeof(T)) != 0 ||
                std::memcmp(&values_[values_.size() - 1 - i], &untouched, sizeof(T)) != 0)
                return false;
        return true;
    }

private:
    static constexpr std::size_t margin = 16;
    std::vector<T> values_;
};

// Calls into(view) with memory of its own.
template <class Into>
kith::Neighbors gathered(std::int64_t q, std::int64_t k, bool f64, Into into) {
    const auto cells = static_cast<std::size_t>(q * k);
    Guarded<std::int64_t> ids(cells);
    Guarded<float> f32s(f64 ? 0 : cells);
    Guarded<double> f64s(f64 ? cells : 0);
    kith::Neighbors out{q, k, {}, {}, {}, {}};
    out.report = into(kith::NeighborsView{ids.get(), f64 ? static_cast<void*>(f64s.get()) : f32s.get()});
    if (!ids.intact() || !f32s.intact() || !f64s.intact()) throw std::runtime_error("wrote outside of the result");
    out.ids = ids.result();
    out.distances = f32s.result();
    out.distances64 = f64s.result();
    return out;
}

// What a search is called through.
enum class Entry { search, search_into, index, index_into, index_threads, count };

kith::Neighbors call(const Case& c, Entry entry, bool graph, const kith::Options& options) {
    const kith::MatrixView &x = c.points.view, &q = c.queries.view;
    const std::int64_t rows = graph ? c.n : c.q;
    switch (entry) {
        case Entry::search:
            return graph ? kith::graph(x, c.k, options) : kith::search(x, q, c.k, options);
        case Entry::search_into:
            return gathered(rows, c.k, c.f64, [&](const kith::NeighborsView& out) {
                return graph ? kith::graph_into(x, c.k, options, out) : kith::search_into(x, q, c.k, options, out);
            });
        default:
            break;
    }
    // Its points go before it is searched.
    arrays::Array copy = c.points;
    copy.view.data = copy.bytes.data() + (static_cast<const std::byte*>(x.data) - c.points.bytes.data());
    const kith::Index index(copy.view, options);
    std::fill(copy.bytes.begin(), copy.bytes.end(), std::byte{0x77});
    const auto search = [&] { return graph ? index.graph(c.k, options) : index.search(q, c.k, options); };
    if (entry == Entry::index) return search();
    if (entry == Entry::index_into)
        return gathered(rows, c.k, c.f64, [&](const kith::NeighborsView& out) {
            return graph ? index.graph_into(c.k, options, out) : index.search_into(q, c.k, options, out);
        });
    // Two at once, of which both are right.
    kith::Neighbors first, second;
    std::exception_ptr thrown;
    std::thread other([&] {
        try {
            second = search();
        } catch (...) {
            thrown = std::current_exception();
        }
    });
    try {
        first = search();
    } catch (...) {
        other.join();
        throw;
    }
    other.join();
    if (thrown) std::rethrow_exception(thrown);
    const auto same_bits = [](const auto& a, const auto& b) {
        return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0);
    };
    if (first.ids != second.ids || !same_bits(first.distances, second.distances) ||
        !same_bits(first.distances64, second.distances64))
        throw std::runtime_error("two searches of one Index at once differ");
    return first;
}

// Where the metric, type or machine refuses what was forced, the planner chooses.
kith::Neighbors answer(Case& c, Entry entry, bool graph) {
    for (;;) {
        const auto search = [&](const kith::Options& o) { return call(c, entry, graph, o); };
        try {
            return c.small_memory ? search_cases::with_small_memory(c.options(), search) : search(c.options());
        } catch (const kith::Error& error) {
            const std::string message = error.what();
            const auto names = [&](const std::string& forced) {
                return !forced.empty() && message.find("'" + forced + "'") != std::string::npos;
            };
            if (error.code() != kith::ErrorCode::invalid_argument) throw;
            if (names(c.path)) c.path.clear();
            else if (names(c.isa)) c.isa.clear();
            else throw;
        }
    }
}

std::string search_trial(std::uint64_t seed, const std::string& device, std::string& label) {
    Case c = random_case::make(seed, device);
    Random random(~seed);
    const auto entry = static_cast<Entry>(random.below(static_cast<std::int64_t>(Entry::count)));
    const bool graph = c.n <= 600 && chance(random, 3);
    if (graph) c.k = std::min<std::int64_t>(c.k, 40000 / c.n + 1);
    label = c.label + ", entry " + std::to_string(static_cast<int>(entry)) + (graph ? ", graph" : "");
    if (c.device != "cpu" && c.variant.name == "functor") return "";
    random_case::user_step = c.step.get();
    random_case::user_start = c.start;
    const std::vector<std::byte> points = c.points.bytes, queries = c.queries.bytes;
    const kith::Neighbors got = answer(c, entry, graph);
    if (points != c.points.bytes || queries != c.queries.bytes) return "wrote into its input";
    const kith::Report& r = got.report;
    const std::int64_t rows = graph ? c.n : c.q;
    if (r.queries != rows || r.certified + r.retried + r.scanned > rows || r.certified < 0 || r.retried < 0 ||
        r.scanned < 0)
        return "report: " + std::to_string(r.certified) + " certified, " + std::to_string(r.retried) + " retried, " +
               std::to_string(r.scanned) + " scanned of " + std::to_string(r.queries);
    return Truth(*c.definition, c.variant.params, c.points.view, c.queries.view, c.k, graph).difference(got);
}

// Against the bits of a scan for all points, of which searches are held to the oracle.
std::string radius_trial(std::uint64_t seed, const std::string& device, std::string& label) {
    Case c = random_case::make(seed, device);
    Random random(~seed);
    const bool graph = c.n <= 600 && chance(random, 3), open = chance(random, 3);
    label = "radius of " + c.label + (graph ? ", graph" : "") + (open ? ", open" : "");
    constexpr std::int64_t most_pairs = 1 << 20;
    if (c.n * (graph ? c.n : c.q) > most_pairs || (c.device != "cpu" && c.variant.name == "functor")) return "";
    random_case::user_step = c.step.get();
    random_case::user_start = c.start;
    kith::Options options = c.options();
    kith::Options every = options;
    every.device = "cpu";
    every.path = "exact";
    every.isa = "";
    every.f64 = true;
    every.memory = 0;
    const kith::MatrixView &points = c.points.view, &queries = c.queries.view;
    const kith::Neighbors all = graph ? kith::graph(points, c.n, every) : kith::search(points, queries, c.n, every);
    const bool similarity = c.definition->similarity;
    const std::vector<double> radii = radius_cases::radii_on(all, similarity, random.bits());
    const kith::Radius r = radius_cases::radius_of(radii, open);
    const kith::RadiusNeighbors want = radius_cases::expected(all, radii, open, similarity, c.f64);
    const bool indexed = chance(random, 3);
    for (;;) {
        try {
            kith::RadiusNeighbors got;
            kith::RadiusCounts counts;
            if (indexed) {
                const kith::Index index(points, options);
                got = graph ? index.radius_graph(r, options) : index.radius(queries, r, options);
                counts = graph ? index.radius_graph_counts(r, options) : index.radius_counts(queries, r, options);
            } else {
                got = graph ? kith::radius_graph(points, r, options) : kith::radius(points, queries, r, options);
                counts = graph ? kith::radius_graph_counts(points, r, options)
                               : kith::radius_counts(points, queries, r, options);
            }
            if (counts.counts != radius_cases::counts_of(want)) return "wrong counts";
            return radius_cases::difference(want, got);
        } catch (const kith::Error& error) {
            if (error.code() != kith::ErrorCode::invalid_argument || (options.path.empty() && options.isa.empty()))
                throw;
            options.path = options.isa = "";
        }
    }
}

// Against a scan for the two nearest in either direction.
std::string match_trial(std::uint64_t seed, const std::string& device, std::string& label) {
    Case c = random_case::make(seed, device);
    Random random(~seed);
    kith::MatchOptions options;
    options.mutual = chance(random, 2);
    if (c.n >= 2 && !c.definition->similarity && chance(random, 2)) options.ratio = 1 - 0.5 * random.uniform();
    label = "match of " + c.label + (options.mutual ? ", mutual" : "") + (options.ratio ? ", ratio" : "");
    const kith::Metric& metric = c.variant.metric;
    const bool estimated = (metric.id == kith::MetricId::seuclidean && !metric.variances.data) ||
                           (metric.id == kith::MetricId::mahalanobis && !metric.inverse_covariance.data);
    if (estimated || (c.device != "cpu" && c.variant.name == "functor")) return "";
    random_case::user_step = c.step.get();
    random_case::user_start = c.start;
    options.search = c.options();
    options.search.metric.chosen = true;
    kith::Options scan = options.search;
    scan.device = "cpu";
    scan.path = "exact";
    scan.isa = "";
    scan.f64 = true;
    const kith::MatrixView &a = c.queries.view, &b = c.points.view;
    const kith::Neighbors forth = kith::search(b, a, 2, scan), back = kith::search(a, b, 1, scan);
    kith::Matches want;
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i) {
        const std::int64_t j = forth.ids[2 * i];
        if (j < 0) continue;
        const double distance = forth.distances64[2 * i];
        if (options.ratio && !(distance < *options.ratio * forth.distances64[2 * i + 1])) continue;
        if (options.mutual && back.ids[static_cast<std::size_t>(j)] != static_cast<std::int64_t>(i)) continue;
        want.first.push_back(static_cast<std::int64_t>(i));
        want.second.push_back(j);
        want.distances.push_back(distance);
    }
    kith::Matches got;
    try {
        got = kith::match(a, b, options);
    } catch (const kith::Error& error) {
        const bool forced = !options.search.path.empty() || !options.search.isa.empty();
        if (error.code() != kith::ErrorCode::invalid_argument || !forced) throw;
        options.search.path = options.search.isa = "";
        got = kith::match(a, b, options);
    }
    if (got.first != want.first || got.second != want.second || got.distances.size() != want.distances.size())
        return "other matches";
    const std::size_t bytes = want.distances.size() * sizeof(double);
    return bytes == 0 || std::memcmp(got.distances.data(), want.distances.data(), bytes) == 0 ? "" : "other distances";
}

std::string select_trial(std::uint64_t seed, const std::string& device, std::string& label) {
    Random random(seed);
    const std::int64_t rows = random_case::log_uniform(random, 60), cols = random_case::log_uniform(random, 20000);
    const std::int64_t k = one_of(
        random, {std::int64_t{1}, 1 + random.below(std::min<std::int64_t>(cols, 300)), 1 + random.below(cols), cols});
    const std::string kind = one_of(random, select_cases::kinds);
    const bool largest = chance(random, 2), sorted = !chance(random, 4);
    const select_cases::Case c = select_cases::make_case(
        kind, rows, cols, k, chance(random, 2), one_of(random, arrays::shapes), largest, sorted, random.bits());
    kith::Options options = c.options({});
    options.device = device;
    options.threads = one_of(random, {0, 1, 2, 3});
    if (device == "cpu") {
        options.selector = one_of(random, {"", "", "vector", "nth-element", "heap", "insertion"});
        options.isa = one_of(random, {"", "", "amx", "avx512", "avx2", "baseline"});
    }
    if (kind == "ascending" || kind == "descending") options.order = chance(random, 2) ? kind : "";
    label = "select " + c.label + ", selector '" + options.selector + "', isa '" + options.isa + "', order '" +
            options.order + "', threads " + std::to_string(options.threads);
    const auto once = [&](const kith::Options& o) {
        return chance(random, 2) ? kith::select(c.matrix(), k, o)
                                 : gathered(rows, k, c.f64, [&](const kith::NeighborsView& out) {
                                       return kith::select_into(c.matrix(), k, o, out);
                                   });
    };
    kith::Neighbors got;
    try {
        got = once(options);
    } catch (const kith::Error& error) {
        // A selector's range of k, an instruction set that is not here.
        if (error.code() != kith::ErrorCode::invalid_argument) throw;
        options.selector = options.isa = "";
        got = once(options);
    }
    for (std::int64_t row = 0; row < rows; ++row) {
        std::vector<std::int64_t> ids(got.ids.begin() + row * k, got.ids.begin() + (row + 1) * k),
            want(c.expected.begin() + row * k, c.expected.begin() + (row + 1) * k);
        for (std::int64_t j = 0; j < k; ++j) {
            const std::int64_t id = ids[j];
            if (id < 0 || id >= cols) return "row " + std::to_string(row) + ": no column " + std::to_string(id);
            const double given = c.values[row * cols + id],
                         value = c.f64 ? got.distances64[row * k + j] : got.distances[row * k + j];
            if (value != given && !(std::isnan(value) && std::isnan(given)))
                return "row " + std::to_string(row) + ": value " + std::to_string(value) + " of column " +
                       std::to_string(id) + ", which holds " + std::to_string(given);
        }
        if (!sorted) {
            std::sort(ids.begin(), ids.end());
            std::sort(want.begin(), want.end());
        }
        if (ids != want) return "row " + std::to_string(row) + ": wrong columns";
    }
    return "";
}

// "" or what is wrong.
std::string trial(std::uint64_t seed, const std::string& device, std::string& label) {
    try {
        if (seed % 8 == 7) return select_trial(seed, device, label);
        if (seed % 16 == 5) return match_trial(seed, device, label);
        return seed % 8 == 6 ? radius_trial(seed, device, label) : search_trial(seed, device, label);
    } catch (const std::exception& error) {
        return std::string("threw: ") + error.what();
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t seed = 1;
    long long trials = -1;
    double seconds = -1;
    std::string device = "cpu";
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        if (option == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
        else if (option == "--trials") trials = std::atoll(argv[i + 1]);
        else if (option == "--seconds") seconds = std::atof(argv[i + 1]);
        else if (option == "--device") device = argv[i + 1];
        else return std::fprintf(stderr, "differential: unknown option '%s'\n", argv[i]), 2;
    }
    if (argc % 2 == 0) return std::fprintf(stderr, "differential: option '%s' has no value\n", argv[argc - 1]), 2;
    if (trials < 0 && seconds < 0) seconds = 10;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) std::signal(signal, on_signal);
    const auto start = std::chrono::steady_clock::now();
    const auto elapsed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    long long done = 0;
    for (; trials < 0 ? elapsed() < seconds : done < trials; ++done, ++seed) {
        std::snprintf(running, sizeof running, "differential --seed %llu --trials 1 --device %s\n",
                      static_cast<unsigned long long>(seed), device.c_str());
        alarm(most_seconds);
        std::string label = "making the case";
        const std::string wrong = trial(seed, device, label);
        if (wrong.empty()) continue;
        std::fprintf(stderr, "WRONG: %s\n  %s\n  repeat: %s", wrong.c_str(), label.c_str(), running);
        return 1;
    }
    std::printf("differential: %lld trials in %.1f s, all right\n", done, elapsed());
    return 0;
}
