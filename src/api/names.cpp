// Names of element types and metrics, and lookup of metrics by name.
#include <fmt/format.h>

#include <sstream>
#include <string>
#include <vector>

#include "exact/refuse.h"
#include "kith/did_you_mean.h"
#include "kith/types.h"

namespace kith {

namespace {

struct MetricName {
    const char* name;
    const char* aliases;
    MetricId id;
};
constexpr MetricName metric_names[] = {
#define KITH_METRIC(name, type, aliases, what) {#name, aliases, MetricId::name},
#include "kith/metrics.def"
#undef KITH_METRIC
};

bool contains_word(std::string_view words, std::string_view word) {
    while (!words.empty()) {
        const std::size_t end = words.find(' ');
        if (words.substr(0, end) == word) return true;
        if (end == std::string_view::npos) return false;
        words.remove_prefix(end + 1);
    }
    return false;
}

}  // namespace

const char* name(ElementType type) {
    constexpr const char* names[] = {"f32", "f64", "f16", "bf16", "i8", "u8", "i32", "i64"};
    const auto i = static_cast<std::size_t>(type);
    return i < std::size(names) ? names[i] : "unknown";
}

std::size_t size_of(ElementType type) {
    constexpr std::size_t sizes[] = {4, 8, 2, 2, 1, 1, 4, 8};
    const auto i = static_cast<std::size_t>(type);
    return i < std::size(sizes) ? sizes[i] : 0;
}

const char* name(MetricId id) {
    for (const MetricName& m : metric_names)
        if (m.id == id) return m.name;
    return id == MetricId::formula ? "formula" : "functor";
}

Metric metric_named(std::string_view name) {
    std::string known;
    std::vector<std::string> all;
    for (const MetricName& m : metric_names) {
        if (name == m.name || (!name.empty() && contains_word(m.aliases, name))) return m.id;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", m.name);
        if (*m.aliases) known += fmt::format(" ({})", m.aliases);
        all.emplace_back(m.name);
        std::istringstream aliases(m.aliases);
        for (std::string alias; aliases >> alias;) all.push_back(alias);
    }
    refuse("metric: '{}' is unknown{}; expected one of {}", name, did_you_mean(name, all), known);
}

}  // namespace kith
