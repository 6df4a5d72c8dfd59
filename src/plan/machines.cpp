// The measured machines; the rates are those of docs/performance.md, which names the commands and the raw results.
#include "plan/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "exact/refuse.h"

namespace kith::planner {

namespace {

constexpr double giga = 1e9;
constexpr std::int64_t gib = std::int64_t{1} << 30;

// NVIDIA H100 80GB HBM3, 2026-11-24: n 1,048,576, q 8,192 (bench/results/h100-80gb-hbm3/goals-augmented.txt, of d 768
// goals-augmented-earlier.txt); the metrics without a filter n 131,072, q 1,024. Uploads and preparation from the same
// page.
KnownMachine h100() {
    KnownMachine m;
    m.facts = {"h100", "one NVIDIA H100 80GB HBM3"};
    m.source = "docs/performance.md";
    m.machine.isa = "avx512";
    m.machine.threads = 16;
    m.machine.free_bytes = 100 * gib;
    m.machine.devices = {{"NVIDIA H100 80GB HBM3", 90, 78 * gib, 132}};
    m.start_seconds = 0.0002;
    m.copied_bytes = 52 * giga;
    m.prepared_values = 65 * giga;
    m.rates = {
        {Path::gemm_f16, "", 16, 10, 3787 * giga},      {Path::gemm_f16, "", 16, 100, 2993 * giga},
        {Path::gemm_f16, "", 16, 1000, 1317 * giga},    {Path::gemm_f16, "", 64, 10, 3052 * giga},
        {Path::gemm_f16, "", 64, 100, 2532 * giga},     {Path::gemm_f16, "", 64, 1000, 1187 * giga},
        {Path::gemm_f16, "", 128, 10, 2124 * giga},     {Path::gemm_f16, "", 128, 100, 1901 * giga},
        {Path::gemm_f16, "", 128, 1000, 1001 * giga},   {Path::gemm_f16, "", 256, 10, 1182 * giga},
        {Path::gemm_f16, "", 256, 100, 1074 * giga},    {Path::gemm_f16, "", 256, 1000, 676 * giga},
        {Path::gemm_f16, "", 768, 10, 415 * giga},      {Path::gemm_f16, "", 768, 100, 382 * giga},
        {Path::gemm_f16, "", 768, 1000, 259 * giga},    {Path::exact, "cityblock", 128, 10, 5.0 * giga},
        {Path::exact, "canberra", 128, 10, 2.0 * giga}, {Path::exact, "jensenshannon", 128, 10, 0.6 * giga},
    };
    return m;
}

// NVIDIA H200, 2026-11-22: n 1,048,576, q 8,192; direct-f32 n 131,072, q 4,096, minkowski with p 2.5
// (bench/results/h200/goals.json, as its uploads and preparation).
KnownMachine h200() {
    KnownMachine m;
    m.facts = {"h200", "one NVIDIA H200"};
    m.source = "docs/performance.md";
    m.machine.isa = "avx512";
    m.machine.threads = 16;
    m.machine.free_bytes = 100 * gib;
    m.machine.devices = {{"NVIDIA H200", 90, 138 * gib, 132}};
    m.start_seconds = 0.0002;
    m.copied_bytes = 55 * giga;
    m.prepared_values = 80 * giga;
    m.rates = {
        {Path::gemm_f16, "", 16, 10, 3197 * giga},
        {Path::gemm_f16, "", 16, 100, 2638 * giga},
        {Path::gemm_f16, "", 16, 1000, 1236 * giga},
        {Path::gemm_f16, "", 64, 10, 2536 * giga},
        {Path::gemm_f16, "", 64, 100, 2184 * giga},
        {Path::gemm_f16, "", 64, 1000, 1104 * giga},
        {Path::gemm_f16, "", 128, 10, 1887 * giga},
        {Path::gemm_f16, "", 128, 100, 1659 * giga},
        {Path::gemm_f16, "", 128, 1000, 927 * giga},
        {Path::gemm_f16, "", 256, 10, 1114 * giga},
        {Path::gemm_f16, "", 256, 100, 1017 * giga},
        {Path::gemm_f16, "", 256, 1000, 676 * giga},
        {Path::gemm_f16, "", 768, 10, 393 * giga},
        {Path::gemm_f16, "", 768, 100, 380 * giga},
        {Path::gemm_f16, "", 768, 1000, 273 * giga},
        {Path::direct_f32, "cityblock", 128, 10, 148 * giga},
        {Path::direct_f32, "cityblock", 128, 100, 119 * giga},
        {Path::direct_f32, "chebyshev", 128, 10, 139 * giga},
        {Path::direct_f32, "chebyshev", 128, 100, 131 * giga},
        {Path::direct_f32, "hamming", 128, 10, 130 * giga},
        {Path::direct_f32, "hamming", 128, 100, 117 * giga},
        {Path::direct_f32, "minkowski", 128, 10, 15.3 * giga},
        {Path::direct_f32, "canberra", 128, 10, 28.5 * giga},
        {Path::direct_f32, "braycurtis", 128, 10, 46.9 * giga},
        {Path::direct_f32, "jensenshannon", 128, 10, 29.4 * giga},
        {Path::exact, "cityblock", 128, 10, 17.5 * giga},
    };
    return m;
}

// Two cores of an AMD EPYC (Zen 5), 2026-11-24: n 100,000, q 10,000 (direct-f32: 200, 2026-11-21), one call
// (bench/results/epyc-zen5-2-cores/baselines-faiss.json).
KnownMachine zen5() {
    KnownMachine m;
    m.facts = {"zen5", "two cores of an AMD EPYC (Zen 5)"};
    m.source = "docs/performance.md";
    m.machine.isa = "avx512";
    m.machine.bf16 = m.machine.vnni = true;
    m.machine.threads = 2;
    m.machine.free_bytes = 20 * gib;
    m.machine.no_device = "that machine has none";
    m.start_seconds = 0.001;
    m.rates = {
        {Path::gemm_f32, "", 16, 10, 10.6 * giga},
        {Path::gemm_f32, "", 16, 100, 5.95 * giga},
        {Path::gemm_bf16, "", 128, 10, 2.65 * giga},
        {Path::gemm_bf16, "", 128, 100, 1.54 * giga},
        {Path::gemm_bf16, "", 768, 10, 0.516 * giga},
        {Path::gemm_bf16, "", 768, 100, 0.393 * giga},
        {Path::gemm_i8, "", 128, 10, 4.20 * giga},
        {Path::gemm_i8, "", 128, 100, 2.62 * giga},
        {Path::gemm_i8, "", 768, 10, 0.767 * giga},
        {Path::gemm_i8, "", 768, 100, 0.531 * giga},
        {Path::direct_f32, "cityblock", 128, 10, 0.606 * giga},
        {Path::direct_f32, "cityblock", 128, 100, 0.426 * giga},
    };
    return m;
}

// Between two measured points of a power law; beyond them the nearer one.
double between(double x, double x0, double y0, double x1, double y1) {
    if (x <= x0 || x0 == x1) return y0;
    if (x >= x1) return y1;
    return y0 * std::pow(y1 / y0, std::log(x / x0) / std::log(x1 / x0));
}

// At one measured d.
double rate_for_k(const std::vector<Rate>& rates, double d, double k) {
    const Rate* below = nullptr;
    for (const Rate& r : rates) {
        if (r.d != d) continue;
        if (below && k <= r.k) return between(k, below->k, below->pairs, r.k, r.pairs);
        if (k <= r.k) return r.pairs;
        below = &r;
    }
    return below->pairs;
}

}  // namespace

std::vector<KnownMachine> known_machines() {
    return {h100(), h200(), zen5()};
}

KnownMachine known_machine(std::string_view name) {
    std::string names;
    for (KnownMachine& m : known_machines()) {
        if (name == m.facts.name) return std::move(m);
        names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", m.facts.name, m.facts.what);
    }
    refuse("machine: '{}'; expected one of {}", name, names);
}

double known_rate(const KnownMachine& machine, Path path, std::string_view metric, double d, double k) {
    std::vector<Rate> rates;
    for (const Rate& r : machine.rates)
        if (path == r.path && (*r.metric == '\0' || metric == r.metric)) rates.push_back(r);
    if (rates.empty()) return 0;
    const Rate* below = nullptr;
    for (const Rate& r : rates) {
        if (d <= r.d && below)
            return between(d, below->d, rate_for_k(rates, below->d, k), r.d, rate_for_k(rates, r.d, k));
        if (d <= r.d) return rate_for_k(rates, r.d, k);
        if (!below || r.d > below->d) below = &r;
    }
    return rate_for_k(rates, below->d, k) * below->d / d;
}

}  // namespace kith::planner
