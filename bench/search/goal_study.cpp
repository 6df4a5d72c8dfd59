// A line per search as soon as it is measured; the JSON grows with every set.
#include "search/goal_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "document.h"
#include "gpu/backend.h"
#include "kith/kith.h"
#include "machine/parallel.h"
#include "machine_limits.h"

namespace kith::bench {

namespace {

constexpr const char* heads =
    "{:<20} {:>8} {:>7} {:>4} {:>5} {:<13} {:<10} {:>9} {:>8} {:>8} {:>5} {:>4} {:>7} {:>9} {:>8} {:>8} {:>8} {:>7}  "
    "{}\n";

const char* name(GoalKind kind) {
    switch (kind) {
        case GoalKind::rate:
            return "10^9 pairs a second, at least";
        case GoalKind::milliseconds:
            return "milliseconds, at most";
        case GoalKind::of_gaussian:
            return "share of the Gaussian rate, at least";
        default:
            return "times the pinned copy and the Index's search, at most";
    }
}

std::string goal_text(const Measured& m) {
    if (std::isnan(m.goal)) return "-";
    return m.goal_is_time() ? fmt::format("{:.3f}ms", 1e3 * m.goal) : figure(1e-9 * m.goal);
}

// True if the trace is what the plan says: "other" where the plan's first attempt did not come first.
const char* as_planned(const Measured& m) {
    return !m.planned() ? "NO" : m.began_as_planned() ? "yes" : "other";
}

void print(const Measured& m) {
    const Report& r = m.timing.report;
    fmt::print(
        heads, m.set.name, m.set.n, m.set.graph ? "graph" : fmt::format("{}", m.set.q), m.set.d, m.k,
        kith::name(m.set.metric), r.path, fmt::format("{:.3f}", 1e3 * m.timing.median()), figure(1e-9 * m.rate()),
        goal_text(m), std::isnan(m.gaussian_rate) ? "-" : fmt::format("{:.2f}", m.rate() / m.gaussian_rate),
        std::isnan(m.goal) ? "-" : (m.met() ? "yes" : "NO"),
        fmt::format("{:.0f}", r.candidates / static_cast<double>(r.queries)), r.certified, r.retried, r.scanned,
        fmt::format("{:.2f}", 1e3 * m.prepare_seconds), as_planned(m), fmt::format("exact {}/{}", m.exact, m.checked));
    if (!m.difference.empty()) fmt::print("  NOT EXACT: {}\n", m.difference);
    if (!std::isnan(m.copy_seconds))
        fmt::print("  its parts: pinned copy {:.3f} ms, Index search {:.3f} ms\n", 1e3 * m.copy_seconds,
                   1e3 * m.index_seconds);
    std::fflush(stdout);
}

Json to_json(const Measured& m) {
    const GoalSet& s = m.set;
    const Report& r = m.timing.report;
    Json json{{"name", s.name},
              {"data", s.of_file    ? "images"
                       : s.ordinary ? "ordinary"
                                    : data_names[static_cast<int>(s.data)]},
              {"type", kith::name(s.type)},
              {"metric", kith::name(s.metric)},
              {"graph", s.graph},
              {"from_host", s.kind == GoalKind::of_parts},
              {"n", s.n},
              {"q", s.q},
              {"d", s.d},
              {"k", m.k},
              {"median_s", m.timing.median()},
              {"min_s", m.timing.seconds.front()},
              {"max_s", m.timing.seconds.back()},
              {"runs", m.timing.seconds.size()},
              {"pairs_per_s", m.rate()},
              {"prepare_s", m.prepare_seconds}};
    if (!std::isnan(m.goal)) {
        json["goal"] = {{"is", name(s.kind)}, {m.goal_is_time() ? "seconds" : "pairs_per_s", m.goal}};
        if (s.most_scanned < 1) json["goal"]["scanned_share_at_most"] = s.most_scanned;
        json["met"] = m.met();
    }
    if (!std::isnan(m.gaussian_rate)) {
        json["gaussian_pairs_per_s"] = m.gaussian_rate;
        json["share_of_gaussian"] = m.rate() / m.gaussian_rate;
    }
    if (!std::isnan(m.copy_seconds)) {
        json["pinned_copy_s"] = m.copy_seconds;
        json["index_search_s"] = m.index_seconds;
    }
    json["path"] = r.path;
    json["planned"] = m.planned();
    json["began_as_planned"] = m.began_as_planned();
    for (const Attempt& each : m.plan.attempts) json["attempts"].push_back(each.strategy);
    for (const TraceEntry& each : r.trace)
        json["trace"].push_back({{"strategy", each.strategy},
                                 {"queries", each.queries},
                                 {"certified", each.certified},
                                 {"left", each.left},
                                 {"cause", each.cause},
                                 {"seconds", each.seconds}});
    json["candidates_per_query"] = r.candidates / static_cast<double>(r.queries);
    json["certified"] = r.certified;
    json["retried"] = r.retried;
    json["scanned"] = r.scanned;
    json["checked"] = m.checked;
    json["exact"] = m.exact;
    if (!m.difference.empty()) json["difference"] = m.difference;
    return json;
}

std::vector<GoalSet> chosen(const std::vector<GoalSet>& all, const std::vector<std::string>& only) {
    for (const std::string& each : only)
        if (std::ranges::find(all, each, &GoalSet::name) == all.end())
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--only: '{}'; expected some of {}", each, goal_names(all)));
    std::vector<GoalSet> sets;
    for (const GoalSet& set : all)
        if (only.empty() || std::ranges::find(only, set.name) != only.end()) sets.push_back(set);
    return sets;
}

// Where the searches run. The goals in absolute figures are those of a GPU.
int device_of(const GoalStudy& study, const Options& options) {
    const int device = plan({1, 1, 1, 1}, options).device;
    if (device != host_memory || study.ordinary) return device;
    const std::string why = gpu::absence();
    throw Error(ErrorCode::device, "search --goals: needs a GPU" + (why.empty() ? "" : "; " + why));
}

Json to_json(const Limits& limits) {
    return {{"f32_flops", 2 * limits.multiply_adds},
            {"bf16_flops", 2 * limits.tensor_multiply_adds},
            {"bytes_per_s", limits.bytes},
            {"how", limits.how}};
}

}  // namespace

std::string goal_names(const std::vector<GoalSet>& sets) {
    std::string names;
    for (const GoalSet& set : sets) names += (names.empty() ? "" : ", ") + set.name;
    return names;
}

bool run(const GoalStudy& study, const Options& options) {
    if (study.goals && study.ordinary)
        throw Error(ErrorCode::invalid_argument, "--goals, --ordinary: expected one of them");
    const int device = device_of(study, options);
    const bool on_gpu = device != host_memory;
    const std::vector<GoalSet> sets =
        chosen(study.ordinary ? ordinary_goals(study.shape, on_gpu) : search_goals(), study.only);
    const int threads = options.threads ? options.threads : machine::default_threads();
    const std::string device_name = on_gpu ? gpu::device_info(device).name : fmt::format("CPU, {} threads", threads);
    const Limits limits = on_gpu ? cuda_limits(device) : cpu_limits(threads);
    fmt::print("{}: {}f32 {:.2f} TFLOP/s, {:.0f} GB/s ({})\n", device_name,
               on_gpu ? fmt::format("bf16 {:.0f} TFLOP/s, ", 2e-12 * limits.tensor_multiply_adds) : "",
               2e-12 * limits.multiply_adds, 1e-9 * limits.bytes, limits.how);
    const char* const quick = study.ordinary ? "; quick: an eighth of the points"
                                             : "; quick: an eighth of points and queries, no absolute goals";
    fmt::print("medians of at least {} calls from and to {} memory, points prepared once{}\n", study.inputs.repeat,
               on_gpu ? "device" : "host", study.inputs.quick ? quick : "");
    fmt::print(heads, "search", "n", "q", "d", "k", "metric", "path", "ms", "G/s", "goal", "share", "met", "cand/q",
               "certified", "retried", "scanned", "prep ms", "planned", "");
    Json document = head(device_name, study.inputs.quick);
    document["limits"] = to_json(limits);
    document["repeat"] = study.inputs.repeat;
    document["results"] = Json::array();
    document["notes"] = Json::object();
    GoalRunner runner(options, device, study.inputs);
    int goals = 0, met = 0, searches = 0, exact = 0, failed = 0, planned = 0, began = 0;
    const auto done = [&](const Measured& m) {
        print(m);
        document["results"].push_back(to_json(m));
        ++searches;
        exact += m.exact == m.checked;
        planned += m.planned();
        began += m.began_as_planned();
        goals += !std::isnan(m.goal);
        met += !std::isnan(m.goal) && m.met();
    };
    for (const GoalSet& set : sets) {
        try {
            runner.run(set, done);
        } catch (const Error& e) {
            fmt::print("{:<20} not run: {}\n", set.name, e.what());
            document["notes"][set.name] = e.what();
            failed += e.code() != ErrorCode::invalid_argument || !set.of_file;
        }
        if (!study.json.empty()) write(document, study.json);
    }
    fmt::print("{} of {} goals met; {} of {} searches exact; {} sets failed\n", met, goals, exact, searches, failed);
    fmt::print("{} of {} searches ran what was planned, {} began with the first attempt\n", planned, searches, began);
    return exact == searches && failed == 0;
}

}  // namespace kith::bench
