// The metric of an ann-benchmarks file, in its attributes: ann-benchmarks' word where it has one,
// and kith's own.
#include <unistd.h>

#include <optional>
#include <utility>

#include "io/errors.h"
#include "io/hdf5_output.h"
#include "io/input.h"
#include "io/path.h"
#include "machine/float_state.h"

namespace kith {
namespace io {
namespace {

constexpr std::size_t longest_text = std::size_t{1} << 16;  // HDF5's own limit of an attribute

constexpr const char* parameters[] = {
    "kith_p",         "kith_packed_bits", "kith_inverse_covariance",
    "kith_variances", "kith_formula",     "kith_start"};

// ann-benchmarks knows euclidean, angular, hamming and jaccard; for other metrics there is only
// kith's name. Its euclidean is not squared, so sqeuclidean is not called so.
std::string benchmark_word(const Metric& metric) {
    return metric.id == MetricId::cosine ? "angular" : name(metric.id);
}

}  // namespace

std::optional<std::string> hdf5_text(const std::string& path, hid_t file, const char* name) {
    if (H5Aexists(file, name) <= 0) return {};
    const auto refuse = [&] {
        bad_file(path, fmt::format("expected one text as the attribute {}", name));
    };
    const Hdf5Handle attribute(H5Aopen(file, name, H5P_DEFAULT), H5Aclose);
    const Hdf5Handle type(H5Aget_type(attribute), H5Tclose);
    const Hdf5Handle space(H5Aget_space(attribute), H5Sclose);
    if (!attribute.valid() || H5Tget_class(type) != H5T_STRING ||
        H5Sget_simple_extent_npoints(space) != 1)
        refuse();
    if (H5Tis_variable_str(type) > 0) {
        char* text = nullptr;
        if (H5Aread(attribute, type, &text) < 0 || !text) refuse();
        std::string copy(text);
        H5free_memory(text);
        return copy;
    }
    const std::size_t size = H5Tget_size(type);
    if (size > longest_text) refuse();
    std::string text(size, '\0');
    if (H5Aread(attribute, type, text.data()) < 0) refuse();
    return text.substr(0, text.find('\0'));
}

namespace {

double read_number(const std::string& path, hid_t file, const char* name) {
    const Hdf5Handle attribute(H5Aopen(file, name, H5P_DEFAULT), H5Aclose);
    const Hdf5Handle space(H5Aget_space(attribute), H5Sclose);
    double value = 0;
    if (!attribute.valid() || H5Sget_simple_extent_npoints(space) != 1 ||
        H5Aread(attribute, H5T_NATIVE_DOUBLE, &value) < 0) {
        bad_file(path, fmt::format("expected one number as the attribute {}", name));
    }
    return value;
}

}  // namespace

void Hdf5Output::set_metric(const Metric& metric) {
    Hdf5Session session;
    const std::pair<const char*, std::string> names[] = {{"distance", benchmark_word(metric)},
                                                         {"kith_metric", kith::name(metric.id)}};
    for (const auto& [attribute, text] : names) {
        const std::string old = hdf5_text(name(), file_, attribute).value_or(text);
        if (old == text || force_) continue;
        bad_argument(fmt::format(
            "{}: its metric is {} ({}), and the result's {}; only force (--force) replaces that",
            name(), old, attribute, text));
    }
    for (const char* parameter : parameters) {
        if (has_attribute(parameter)) H5Adelete(file_, parameter);
    }
    for (const auto& [attribute, text] : names) set_text(attribute, text);
    const auto set_number = [&](const char* attribute, double value) {
        set_attribute(attribute, H5T_NATIVE_DOUBLE, &value);
    };
    switch (metric.id) {
        case MetricId::minkowski:
            return set_number("kith_p", metric.p);
        case MetricId::hamming:
        case MetricId::jaccard:
        case MetricId::dice:
            return set_number("kith_packed_bits", metric.packed_bits ? 1 : 0);
        case MetricId::mahalanobis:
            return set_text("kith_inverse_covariance",
                            metric.inverse_covariance.data ? "given" : "estimated");
        case MetricId::seuclidean:
            return set_text("kith_variances", metric.variances.data ? "given" : "estimated");
        case MetricId::formula:
            set_text("kith_formula", metric.formula);
            return set_number("kith_start", metric.start);
        default:
            return;
    }
}

}  // namespace io

std::optional<Metric> read_ann_benchmarks_metric(const std::string& path, bool* by_kith) {
    const machine::FloatState state;
    using namespace io;
    const std::string name_of_file = parse_source(path).location.file;
    const OpenFile opened({name_of_file});
    Hdf5Session session;
    const Hdf5Handle file = hdf5_open_file(opened);

    std::optional<std::string> word = hdf5_text(name_of_file, file, "kith_metric");
    const bool ours = word.has_value();
    if (by_kith) *by_kith = ours;
    if (!ours) word = hdf5_text(name_of_file, file, "distance");
    if (!word) return {};
    Metric metric;
    if (*word == name(MetricId::formula)) metric.id = MetricId::formula;
    else if (*word == name(MetricId::functor))
        bad_file(name_of_file, "its metric is a functor of the program that wrote it");
    else metric = metric_named(*word);
    if (!ours) return metric;

    if (metric.id == MetricId::minkowski) metric.p = read_number(name_of_file, file, "kith_p");
    if (metric.id == MetricId::hamming || metric.id == MetricId::jaccard ||
        metric.id == MetricId::dice) {
        metric.packed_bits = read_number(name_of_file, file, "kith_packed_bits") != 0;
    }
    if (metric.id == MetricId::mahalanobis &&
        hdf5_text(name_of_file, file, "kith_inverse_covariance").value_or("") != "estimated") {
        bad_file(name_of_file, "its metric is mahalanobis of a matrix that it does not hold");
    }
    if (metric.id == MetricId::seuclidean &&
        hdf5_text(name_of_file, file, "kith_variances").value_or("") != "estimated") {
        bad_file(name_of_file, "its metric is seuclidean of variances that it does not hold");
    }
    if (metric.id == MetricId::formula) {
        metric.formula = hdf5_text(name_of_file, file, "kith_formula").value_or("");
        metric.start = read_number(name_of_file, file, "kith_start");
    }
    return metric;
}

}  // namespace kith
