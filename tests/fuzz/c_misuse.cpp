// Every function of c.h, called with right arguments and with wrong ones: each wrong one is refused by a code and a
// message, nothing around the caller's memory changes, and nothing crashes.
//
//     c_misuse C_H [--seed S] [--seconds T | --trials N]      C_H: the header, whose functions must all be here
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "c_arguments.h"

namespace {

using c_misuse::Arguments;
using c_misuse::least;
using c_misuse::most;

constexpr unsigned most_seconds = 60;  // of one trial
constexpr int no_code = -1;            // of functions that cannot fail
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

char running[256];  // the command that repeats the trial that runs, for a signal's handler

void on_signal(int signal) {
    const char* const what = signal == SIGALRM ? "\nHANGS: " : "\nCRASHED: ";
    (void)!write(2, what, std::strlen(what));
    (void)!write(2, running, std::strlen(running));
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

int take_rows(const kith_radius_rows* rows, void* context) {
    auto* const seen = static_cast<std::int64_t*>(context);
    for (std::int64_t at = 0; at < rows->offsets[rows->count]; ++at) *seen += rows->ids[at];
    return 1;
}

// A radius of all queries, or one of each.
struct Radii {
    double r;
    const kith_matrix* each;
    Radii(Arguments& a, std::int64_t q, const kith_options* o)
        : r(static_cast<double>(a.random.below(5))), each(nullptr) {
        if (a.random.below(3) == 0) {
            each = a.matrix("radii", q, 1, KITH_F64, true);
            return;
        }
        if (a.fault("r nan")) r = nan;
        else if (a.default_metric(o) && a.fault("r negative")) r = -1;
    }
};

int search(Arguments& a) {
    const kith_options* const o = a.options();
    const std::int64_t k = a.neighbours(a.q);
    return kith_search(a.points(a.n), a.points(a.q, "queries"), k, o, a.neighbors(a.q, a.f64(o)), a.report());
}

int graph(Arguments& a) {
    const kith_options* const o = a.options();
    const std::int64_t k = a.neighbours(a.n);
    return kith_graph(a.points(a.n), k, o, a.neighbors(a.n, a.f64(o)), a.report());
}

int select(Arguments& a) {
    const std::int64_t cols = 1 + a.random.below(12);
    a.k = std::min(a.k, cols);
    kith_options o;
    kith_options_init(&o, sizeof o);
    o.device = "cpu";
    std::vector<std::int64_t> wide(static_cast<std::size_t>(a.q), cols);
    std::vector<std::int32_t> narrow(static_cast<std::size_t>(a.q), static_cast<std::int32_t>(cols));
    kith_matrix lengths{wide.data(), a.q, 1, 0, KITH_I64, KITH_ROW_MAJOR, KITH_HOST};
    if (a.random.below(2) == 0) lengths.data = narrow.data(), lengths.type = KITH_I32;
    if (a.random.below(2) == 0) {
        o.lengths = &lengths;
        if (a.q > 0 && a.fault("lengths null")) lengths.data = nullptr;
        else if (a.fault("lengths.type")) lengths.type = a.one_of<std::int32_t>({KITH_F32, KITH_F64, -1, 8});
        else if (a.fault("lengths.rows")) lengths.rows = a.one_of<std::int64_t>({-1, least, most, a.q + 1});
        else if (a.q > 0 && a.fault("lengths beyond")) wide[0] = most, narrow[0] = -1;
    }
    if (a.fault("order")) o.order = "sideways";
    if (a.fault("k")) a.k = a.one_of<std::int64_t>({-1, least, most, cols + 1});
    const std::int64_t k = a.k;
    a.k = std::min<std::int64_t>(std::max<std::int64_t>(k, 0), cols);
    return kith_select(a.matrix("distances", a.q, cols, a.narrow()), k, &o, a.neighbors(a.q, true), a.report());
}

int distances(Arguments& a) {
    const kith_options* const o = a.options();
    std::int64_t stride = a.n + a.random.below(3);
    const std::size_t element = a.f64(o) ? 8 : 4;
    const std::int64_t cells = a.n == 0 || a.q == 0 ? 0 : (a.q - 1) * stride + a.n;
    void* out = a.memory(static_cast<std::size_t>(cells) * element);
    if (cells > 0 && a.fault("out null")) out = nullptr;
    if (a.n > 1 && a.fault("stride short")) stride = a.one_of<std::int64_t>({a.n - 1, -1, least});
    else if (a.n > 0 && a.q > 1 && a.fault("stride huge"))
        stride = a.one_of<std::int64_t>({most, most / 2, most / 4 + 1});
    const std::int32_t device = a.fault("device") ? a.one_of<std::int32_t>({-2, 9999}) : KITH_HOST;
    return kith_distances(a.points(a.n), a.points(a.q, "queries"), o, out, stride, device, a.report());
}

int radius(Arguments& a) {
    const kith_options* const o = a.options();
    const bool own = a.random.below(3) == 0;
    const kith_matrix* const queries = own ? nullptr : a.points(a.q, "queries", true);
    const Radii radii(a, own ? a.n : a.q, o);
    std::int64_t seen = 0;
    return kith_radius(a.points(a.n), queries, radii.r, radii.each, 0, o, a.fault("take") ? nullptr : take_rows, &seen,
                       a.report());
}

int radius_counts(Arguments& a) {
    const kith_options* const o = a.options();
    const bool own = a.random.below(3) == 0;
    const std::int64_t rows = own ? a.n : a.q;
    const Radii radii(a, rows, o);
    const kith_matrix* const queries = own ? nullptr : a.points(a.q, "queries", true);
    return kith_radius_counts(a.points(a.n), queries, radii.r, radii.each, 1, o, a.out<std::int64_t>(rows, "counts"),
                              a.report());
}

int search_batches(Arguments& a) {
    const kith_options* const o = a.options();
    kith_batch batches[2] = {{0, a.n, 0, a.q / 2}, {0, a.n, a.q / 2, a.q - a.q / 2}};
    const kith_batch* given = batches;
    std::int64_t count = 2;
    if (a.fault("batches null")) given = nullptr;
    else if (a.fault("count"))
        count = a.one_of<std::int64_t>({-1, least, most, std::int64_t{1} << 58, std::int64_t{1} << 60});
    else if (a.fault("batch")) batches[0].points = a.one_of<std::int64_t>({a.n + 1, -1, most, least});
    else if (a.fault("first")) batches[1].first_point = a.one_of<std::int64_t>({a.n + 1, -1, most, least});
    const std::int64_t k = a.neighbours(a.q);
    return kith_search_batches(a.points(a.n), a.points(a.q, "queries"), given, count, k, o, a.neighbors(a.q, a.f64(o)),
                               a.report());
}

int match(Arguments& a) {
    double ratio = a.random.below(2) == 0 ? 0.8 : 0;
    if (a.fault("ratio")) ratio = a.one_of({-1.0, 2.0, nan, std::numeric_limits<double>::infinity()});
    return kith_match(a.points(a.n, "a"), a.points(a.q, "b"), ratio, a.random.below(2) == 0, a.options(),
                      a.out<std::int64_t>(a.n, "first"), a.out<std::int64_t>(a.n, "second"), a.room<double>(a.n),
                      a.out<std::int64_t>(1, "count"), a.report());
}

int verify(Arguments& a) {
    const kith_options* const o = a.options();
    auto* const ids = a.out<std::int64_t>(a.q * a.k, "ids");
    for (std::int64_t i = 0; ids && i < a.q * a.k; ++i)
        ids[i] = a.random.below(8) == 0 ? static_cast<std::int64_t>(a.random.bits()) : a.random.below(20) - 1;
    const void* const found =
        a.random.below(2) == 0 ? nullptr : a.memory(static_cast<std::size_t>(a.q * a.k) * (a.f64(o) ? 8 : 4));
    kith_verification all{};
    all.struct_size = a.fault("struct_size") ? static_cast<std::size_t>(a.random.below(8)) : sizeof all;
    const std::int64_t k = a.q > 0 && a.fault("k") ? a.one_of<std::int64_t>({0, -1, least, most}) : a.k;
    return kith_verify(a.points(a.n), a.points(a.q, "queries", true), ids, found, k, o,
                       a.fault("verification null") ? nullptr : &all);
}

int parameter(Arguments& a, int (*call)(const kith_matrix*, double*), std::int64_t size) {
    const kith_matrix* const points = a.points(a.n + 1);
    return call(points, a.out<double>(size, "out"));
}

int of_index(Arguments& a, bool graph) {
    kith_index* index = nullptr;
    const kith_options* const o = a.options();
    const int made = kith_index_create(a.points(a.n), o, a.fault("index null") ? nullptr : &index);
    if (made != KITH_OK) {
        if (index) return KITH_INTERNAL;
        return made;
    }
    kith_options call;
    kith_options_init(&call, sizeof call);
    call.f64 = static_cast<std::int32_t>(a.random.below(2));
    if (a.fault("another metric"))
        call.metric = o && o->metric == KITH_METRIC_cosine ? KITH_METRIC_euclidean : KITH_METRIC_cosine;
    const kith_index* const searched = a.fault("no index") ? nullptr : index;
    const std::int64_t rows = graph ? a.n : a.q, k = a.neighbours(rows);
    const kith_neighbors* const out = a.neighbors(rows, call.f64);
    const int code = graph ? kith_index_graph(searched, k, &call, out, a.report())
                           : kith_index_search(searched, a.points(a.q, "queries"), k, &call, out, a.report());
    if (kith_index_size(index) != a.n || kith_index_dimensions(index) != a.d || kith_index_size(nullptr) != 0 ||
        kith_index_dimensions(nullptr) != 0)
        return KITH_INTERNAL;
    kith_index_free(index);
    return code;
}

// Text into room of any size, or none.
template <class Call>
int text(Arguments& a, const Call& call) {
    const std::int64_t capacity = a.random.below(100);
    char* const to = a.out<char>(capacity, "text");
    std::size_t length = 0;
    return call(to, static_cast<std::size_t>(capacity), a.random.below(2) == 0 ? &length : nullptr);
}

std::int64_t size(Arguments& a, const char* what, std::int64_t right) {
    if (a.fault(what)) return a.one_of<std::int64_t>({0, -1, least});
    // What no machine has is planned for or refused, one or the other.
    return a.random.below(16) == 0 ? a.one_of<std::int64_t>({most, std::int64_t{1} << 58, std::int64_t{1} << 40})
                                   : right;
}

int plan(Arguments& a) {
    kith_shape shape{size(a, "n", 1000), size(a, "q", 10), size(a, "d", 8), size(a, "k", 3), a.type(), 0};
    if (a.fault("type")) shape.type = a.one_of<std::int32_t>({-1, KITH_I32, KITH_I64, 8, 2147483647});
    const kith_shape* const given = a.fault("shape null") ? nullptr : &shape;
    kith_options o;
    kith_options_init(&o, sizeof o);
    if (a.fault("path")) o.path = "nowhere";
    return text(a, [&](char* to, std::size_t capacity, std::size_t* length) {
        return kith_plan(given, &o, to, capacity, length);
    });
}

int plan_select(Arguments& a) {
    const std::int32_t type = a.fault("type") ? a.one_of<std::int32_t>({-1, KITH_I8, KITH_I64, 8}) : a.narrow();
    const std::int64_t rows = size(a, "rows", 10), cols = size(a, "cols", 100);
    return text(a, [&](char* to, std::size_t capacity, std::size_t* length) {
        return kith_plan_select(rows, cols, 3, type, nullptr, to, capacity, length);
    });
}

int metric_named(Arguments& a) {
    const char* const name = a.fault("name null") ? nullptr : a.fault("name") ? "eucledian" : "euclidean";
    std::int32_t metric = -7;
    return kith_metric_named(name, a.fault("metric null") ? nullptr : &metric);
}

// An estimate of samples; what few of them cannot give is refused, too.
template <class Call>
int estimate(Arguments& a, const Call& call) {
    kith_estimate found{};
    return call(a.options(), a.fault("estimate null") ? nullptr : &found);
}
std::int64_t estimated_k(Arguments& a) {
    return a.fault("k") ? a.one_of<std::int64_t>({0, -1, least, most}) : a.k;
}
std::int32_t form(Arguments& a) {
    return a.fault("form") ? a.one_of<std::int32_t>({-1, 3, 2147483647}) : static_cast<std::int32_t>(a.random.below(2));
}

// What takes any argument and says nothing of it.
int harmless(Arguments& a) {
    const auto any = static_cast<std::int32_t>(a.random.bits());
    const bool known = any >= 0 && any <= KITH_I64;
    if (std::string(kith_version()).empty() || !kith_last_error()) return KITH_INTERNAL;
    if ((std::string(kith_type_name(any)) == "unknown") == known) return KITH_INTERNAL;
    if ((kith_type_size(any) == 0) == known) return KITH_INTERNAL;
    (void)kith_metric_name(any);
    kith_options_init(nullptr, sizeof(kith_options));
    kith_index_free(nullptr);
    const kith_matrix m = kith_view(nullptr, most, least, any);
    if (m.rows != most || m.cols != least || m.type != any || m.device != KITH_HOST) return KITH_INTERNAL;
    // Of an older caller no more is touched than it has, of a newer one all.
    const auto bytes = static_cast<std::size_t>(a.random.below(2 * sizeof(kith_options)));
    kith_options_init(static_cast<kith_options*>(a.memory(bytes)), bytes);
    return no_code;
}

const std::map<std::string, std::function<int(Arguments&)>> functions = {
    {"kith_last_error", harmless},
    {"kith_version", harmless},
    {"kith_view", harmless},
    {"kith_type_name", harmless},
    {"kith_type_size", harmless},
    {"kith_metric_name", harmless},
    {"kith_options_init", harmless},
    {"kith_metric_named", metric_named},
    {"kith_search", search},
    {"kith_graph", graph},
    {"kith_select", select},
    {"kith_distances", distances},
    {"kith_radius", radius},
    {"kith_radius_counts", radius_counts},
    {"kith_search_batches", search_batches},
    {"kith_match", match},
    {"kith_verify", verify},
    {"kith_inverse_covariance", [](Arguments& a) { return parameter(a, kith_inverse_covariance, a.d * a.d); }},
    {"kith_variances", [](Arguments& a) { return parameter(a, kith_variances, a.d); }},
    {"kith_index_create", [](Arguments& a) { return of_index(a, false); }},
    {"kith_index_free", [](Arguments& a) { return of_index(a, true); }},
    {"kith_index_size", [](Arguments& a) { return of_index(a, false); }},
    {"kith_index_dimensions", [](Arguments& a) { return of_index(a, true); }},
    {"kith_index_search", [](Arguments& a) { return of_index(a, false); }},
    {"kith_index_graph", [](Arguments& a) { return of_index(a, true); }},
    {"kith_plan", plan},
    {"kith_plan_select", plan_select},
    {"kith_build_info",
     [](Arguments& a) {
         return text(a, [](char* to, std::size_t capacity, std::size_t* length) {
             return kith_build_info(to, capacity, length);
         });
     }},
    {"kith_paths",
     [](Arguments& a) {
         return text(
             a, [](char* to, std::size_t capacity, std::size_t* length) { return kith_paths(to, capacity, length); });
     }},
    {"kith_selectors",
     [](Arguments& a) {
         return text(a, [](char* to, std::size_t capacity, std::size_t* length) {
             return kith_selectors(to, capacity, length);
         });
     }},
    {"kith_entropy",
     [](Arguments& a) {
         return estimate(a, [&](const kith_options* o, kith_estimate* found) {
             return kith_entropy(a.points(a.n + 1, "x"), estimated_k(a), o, found);
         });
     }},
    {"kith_kl_divergence",
     [](Arguments& a) {
         return estimate(a, [&](const kith_options* o, kith_estimate* found) {
             return kith_kl_divergence(a.points(a.n + 1, "x"), a.points(a.q + 1, "y"), estimated_k(a), form(a), o,
                                       found);
         });
     }},
    {"kith_mutual_information",
     [](Arguments& a) {
         return estimate(a, [&](const kith_options* o, kith_estimate* found) {
             return kith_mutual_information(a.points(a.n + 1, "x"), a.points(a.n + 1, "y"), estimated_k(a), form(a), o,
                                            found);
         });
     }},
    {"kith_conditional_mutual_information",
     [](Arguments& a) {
         return estimate(a, [&](const kith_options* o, kith_estimate* found) {
             return kith_conditional_mutual_information(a.points(a.n + 1, "x"), a.points(a.n + 1, "y"),
                                                        a.points(a.n + 1, "z"), estimated_k(a), o, found);
         });
     }},
    {"kith_transfer_entropy",
     [](Arguments& a) {
         const std::int64_t lags = a.fault("lags") ? a.one_of<std::int64_t>({0, -1, least, most}) : 1;
         return estimate(a, [&](const kith_options* o, kith_estimate* found) {
             return kith_transfer_entropy(a.points(a.n + 1, "source"), a.points(a.n + 1, "target"), estimated_k(a),
                                          lags, lags, o, found);
         });
     }},
};

// The functions that the header declares.
std::set<std::string> declared(const char* header) {
    std::ifstream file(header);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const std::regex prototype(R"(KITH_EXPORT[^;(]*?\b(kith_\w+)\()");
    std::set<std::string> names;
    for (std::sregex_iterator at(text.begin(), text.end(), prototype), end; at != end; ++at) names.insert((*at)[1]);
    return names;
}

// "" or what is wrong.
std::string trial(std::uint64_t seed, std::string& label) {
    Arguments a(seed);
    const auto& [name, call] = *std::next(functions.begin(), a.random.below(std::ssize(functions)));
    label = name;
    const int code = call(a);
    label += a.wrong.empty() ? "" : ": " + a.wrong;
    if (!a.intact()) return "wrote beside the caller's memory";
    if (code == no_code) return "";
    if (code < KITH_OK || code > KITH_CANCELLED)
        return std::string("code ") + std::to_string(code) + ": " + kith_last_error();
    if (code != KITH_OK && !*kith_last_error()) return "no message";
    if (a.faults > 0 && code == KITH_OK) return "accepted";
    return "";
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t seed = 1;
    long long trials = -1;
    double seconds = -1;
    if (argc < 2) return std::fprintf(stderr, "c_misuse: expected the path of c.h\n"), 2;
    for (int i = 2; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        if (option == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
        else if (option == "--trials") trials = std::atoll(argv[i + 1]);
        else if (option == "--seconds") seconds = std::atof(argv[i + 1]);
        else return std::fprintf(stderr, "c_misuse: unknown option '%s'\n", argv[i]), 2;
    }
    if (trials < 0 && seconds < 0) seconds = 10;
    const std::set<std::string> names = declared(argv[1]);
    bool complete = !names.empty();
    for (const std::string& name : names)
        if (!functions.count(name))
            complete = false, std::fprintf(stderr, "c_misuse: does not call %s\n", name.c_str());
    for (const auto& each : functions)
        if (!names.count(each.first))
            complete = false, std::fprintf(stderr, "c_misuse: %s does not declare %s\n", argv[1], each.first.c_str());
    if (!complete) return 1;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) std::signal(signal, on_signal);
    const auto start = std::chrono::steady_clock::now();
    const auto elapsed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    long long done = 0;
    for (; trials < 0 ? elapsed() < seconds : done < trials; ++done, ++seed) {
        std::snprintf(running, sizeof running, "c_misuse include/kith/c.h --seed %llu --trials 1\n",
                      static_cast<unsigned long long>(seed));
        alarm(most_seconds);
        std::string label;
        const std::string wrong = trial(seed, label);
        if (wrong.empty()) continue;
        std::fprintf(stderr, "WRONG: %s\n  %s\n  repeat: %s", wrong.c_str(), label.c_str(), running);
        return 1;
    }
    std::printf("c_misuse: %lld calls of %zu functions in %.1f s, all right\n", done, functions.size(), elapsed());
    return 0;
}
