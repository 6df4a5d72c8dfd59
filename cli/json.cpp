// Shapes, plans, reports and results as JSON.
#include "json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "print.h"

namespace kith::cli {
Json to_json(const Shape& shape) {
    return {{"n", shape.n},        {"q", shape.q}, {"d", shape.d}, {"k", shape.k}, {"type", name(shape.type)},
            {"graph", shape.graph}};
}

Json to_json(const GraphSchedule& s) {
    return {{"devices", s.devices},
            {"how", s.how},
            {"pairs", s.pairs},
            {"balance", s.balance},
            {"device_bytes", s.device_bytes},
            {"received_bytes", s.received_bytes},
            {"sent_bytes", s.sent_bytes}};
}

Json to_json(const Metric& metric) {
    Json json = {{"name", name(metric.id)}};
    if (metric.id == MetricId::minkowski) json["p"] = metric.p;
    if (metric.id == MetricId::hamming || metric.packed_bits) json["packed_bits"] = metric.packed_bits;
    if (metric.id == MetricId::mahalanobis) json["estimated"] = metric.inverse_covariance.data == nullptr;
    if (metric.id == MetricId::seuclidean) json["estimated"] = metric.variances.data == nullptr;
    if (metric.id == MetricId::formula) {
        json["formula"] = metric.formula;
        json["start"] = metric.start;
    }
    return json;
}

Json to_json(const Plan& plan) {
    Json attempts = Json::array();
    for (const Attempt& each : plan.attempts)
        attempts.push_back({{"strategy", each.strategy},
                            {"when", each.when},
                            {"query_tile", each.query_tile},
                            {"point_tile", each.point_tile},
                            {"bytes", each.bytes},
                            {"seconds", each.seconds}});
    const std::string device = !plan.devices.empty()        ? fmt::format("cuda:{}", fmt::join(plan.devices, ","))
                               : plan.device == host_memory ? "cpu"
                                                            : fmt::format("cuda:{}", plan.device);
    return {{"device", device},
            {"device_queries", plan.device_queries},
            {"device_points", plan.device_points},
            {"path", path_name(plan)},
            {"selector", plan.selector},
            {"matrix_queries", plan.matrix_queries},
            {"fused_lists", plan.fused_lists},
            {"isa", plan.isa},
            {"threads", plan.threads},
            {"query_tile", plan.query_tile},
            {"point_tile", plan.point_tile},
            {"chunk_points", plan.chunk_points},
            {"host_points", plan.host_points != HostPoints::none},
            {"candidate_capacity", plan.candidate_capacity},
            {"symmetric", plan.symmetric},
            {"tries_tree", plan.tries_tree},
            {"workspace_bytes", plan.workspace_bytes},
            {"attempts", attempts},
            {"why", plan.why}};
}

Json to_json(const Report& report) {
    Json fallbacks = Json::array();
    for (const Fallback& f : report.fallbacks)
        fallbacks.push_back({{"queries", f.queries}, {"scanned", f.scanned}, {"why", f.why}, {"help", f.help}});
    Json trace = Json::array();
    for (const TraceEntry& e : report.trace)
        trace.push_back({{"strategy", e.strategy},
                         {"queries", e.queries},
                         {"certified", e.certified},
                         {"left", e.left},
                         {"cause", e.cause},
                         {"seconds", e.seconds}});
    return {{"path", report.path},       {"selector", report.selector}, {"device", report.device},
            {"threads", report.threads}, {"queries", report.queries},   {"certified", report.certified},
            {"retried", report.retried}, {"scanned", report.scanned},   {"candidates", report.candidates},
            {"pairs", report.pairs},     {"fallbacks", fallbacks},      {"trace", trace}};
}

Json first_rows_json(const Neighbors& neighbors) {
    const std::int64_t rows = std::min(neighbors.queries, printed_rows);
    Json ids = Json::array();
    Json distances = Json::array();
    for (std::int64_t i = 0; i < rows; ++i) {
        Json row_ids = Json::array();
        Json row_distances = Json::array();
        for (std::int64_t j = 0; j < neighbors.k; ++j) {
            row_ids.push_back(neighbors.ids[static_cast<std::size_t>(i * neighbors.k + j)]);
            row_distances.push_back(distance_at(neighbors, i, j));
        }
        ids.push_back(std::move(row_ids));
        distances.push_back(std::move(row_distances));
    }
    return {{"rows", rows}, {"ids", std::move(ids)}, {"distances", std::move(distances)}};
}

void print_json(const Json& object) {
    // Text from files may hold any bytes; a replacement character is better than no object.
    const std::string text = object.dump(2, ' ', false, Json::error_handler_t::replace);
    fmt::print("{}\n", text);
}

}  // namespace kith::cli
