// Retrieval: divergences of the images' samples, summed over the scales, and the order that they
// make.
#include "kith/retrieval.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "api/guard.h"
#include "api/request.h"
#include "estimators/divergence.h"
#include "exact/parts.h"
#include "exact/refuse.h"

namespace kith {

namespace {

using namespace estimators;

// Of each scale the samples of all images.
using Scales = std::vector<std::vector<Sample>>;

Scales scales_of(const std::vector<std::vector<MatrixView>>& images, std::int64_t k, int threads) {
    if (images.size() < 2) refuse("images: {}; expected at least 2", images.size());
    const std::size_t scales = images[0].size();
    if (scales == 0) refuse("images: image 0 has no samples");
    Scales out(scales);
    for (std::size_t i = 0; i < images.size(); ++i) {
        if (images[i].size() != scales)
            refuse("images: image {} has {} scales; expected {}, as image 0 has", i,
                   images[i].size(), scales);
        for (std::size_t s = 0; s < scales; ++s) {
            const std::string what = fmt::format("image {}, scale {}", i, s);
            out[s].push_back(sample_of(images[i][s], what.c_str(), threads));
            const Sample& sample = out[s].back();
            if (sample.d != out[s][0].d)
                refuse("{}: {} columns; expected {}, as image 0 has", what, sample.d, out[s][0].d);
            if (k < 1 || k >= sample.n)
                refuse("k: {}; expected 1 to {}, fewer than {} has", k, sample.n - 1, what);
        }
    }
    return out;
}

std::vector<std::int64_t> asked_of(const RetrievalOptions& options, std::int64_t images) {
    std::vector<std::int64_t> asked = options.asked;
    if (asked.empty()) {
        asked.resize(static_cast<std::size_t>(images));
        std::iota(asked.begin(), asked.end(), std::int64_t{0});
    }
    for (const std::int64_t i : asked)
        if (i < 0 || i >= images) refuse("asked: {}; expected images from 0 to {}", i, images - 1);
    return asked;
}

// The k-th distances within an image are those of all its comparisons.
class OwnNeighbors {
public:
    OwnNeighbors(const std::vector<Sample>& samples, std::int64_t k, const Options& search_as)
        : samples_(samples), k_(k), search_as_(search_as), found_(samples.size()) {}
    const KthNeighbors& of(std::size_t image) {
        KthNeighbors& found = found_[image];
        if (found.ids.empty()) found = kth_of(graph(samples_[image].view(), k_, search_as_));
        return found;
    }

private:
    const std::vector<Sample>& samples_;
    std::int64_t k_;
    const Options& search_as_;
    std::vector<KthNeighbors> found_;
};

// Adds those of one scale.
void add_scale(std::vector<Sample>& samples, std::int64_t k, const RetrievalOptions& options,
               const Options& search_as, int threads, PartsMeter& progress, Retrieved& out) {
    std::vector<Sample*> all;
    for (Sample& sample : samples) all.push_back(&sample);
    scale_together(all, threads);
    OwnNeighbors own(samples, k, search_as);
    const auto divergence = [&](std::size_t a, std::size_t b) {
        const double pairs = static_cast<double>(samples[a].n) * static_cast<double>(samples[b].n);
        const Estimate e = progress.run(pairs, [&] {
            return divergence_of(samples[a], own.of(a), samples[b], k, options.form, search_as);
        });
        out.left_out += e.left_out;
        return e.value;
    };
    for (std::size_t row = 0; row < out.asked.size(); ++row) {
        const auto a = static_cast<std::size_t>(out.asked[row]);
        for (std::size_t b = 0; b < samples.size(); ++b) {
            if (a == b) continue;
            double& sum = out.divergences[row * samples.size() + b];
            sum += divergence(a, b);
            if (options.both_ways) sum += divergence(b, a);
        }
    }
}

// Pairs that are compared, at all scales.
double work_of(const Scales& scales, const std::vector<std::int64_t>& asked, bool both_ways) {
    double pairs = 0;
    for (const std::vector<Sample>& samples : scales)
        for (const std::int64_t a : asked)
            for (std::size_t b = 0; b < samples.size(); ++b)
                if (static_cast<std::size_t>(a) != b)
                    pairs += static_cast<double>(samples[static_cast<std::size_t>(a)].n) *
                             static_cast<double>(samples[b].n) * (both_ways ? 2 : 1);
    return pairs;
}

}  // namespace

std::vector<std::vector<MatrixView>> views(const std::vector<std::vector<FeatureSet>>& sets) {
    std::vector<std::vector<MatrixView>> out(sets.size());
    for (std::size_t i = 0; i < sets.size(); ++i)
        for (const FeatureSet& set : sets[i]) out[i].push_back(set.view());
    return out;
}

Retrieved retrieve(const std::vector<std::vector<MatrixView>>& images, std::int64_t k,
                   const RetrievalOptions& options) {
    return api::guarded([&] {
        const Options search_once = search_options(options.search);
        check_divergence_metric(search_once.metric);
        const int threads = api::threads_of(options.search);
        Scales scales = scales_of(images, k, threads);
        Retrieved out;
        out.images = static_cast<std::int64_t>(images.size());
        out.asked = asked_of(options, out.images);
        out.divergences.resize(out.asked.size() * images.size());
        PartsMeter progress(options.search.progress, work_of(scales, out.asked, options.both_ways),
                            "retrieve");
        const Options search_as = progress.of_part(search_once);
        for (std::vector<Sample>& samples : scales)
            add_scale(samples, k, options, search_as, threads, progress, out);
        std::vector<std::int64_t> row;
        for (std::size_t i = 0; i < out.asked.size(); ++i) {
            row.clear();
            for (std::int64_t b = 0; b < out.images; ++b)
                if (b != out.asked[i]) row.push_back(b);
            const double* const away = out.divergences.data() + i * images.size();
            std::stable_sort(row.begin(), row.end(), [&](std::int64_t a, std::int64_t b) {
                const bool unknown = std::isnan(away[a]), other_unknown = std::isnan(away[b]);
                return unknown || other_unknown ? !unknown && other_unknown : away[a] < away[b];
            });
            out.order.insert(out.order.end(), row.begin(), row.end());
        }
        return out;
    });
}

double precision_at(const Retrieved& retrieved, const std::vector<std::int64_t>& labels,
                    std::int64_t first) {
    return api::guarded([&] {
        const std::int64_t others = retrieved.images - 1;
        if (static_cast<std::int64_t>(labels.size()) != retrieved.images)
            refuse("labels: {}; expected {}, one of each image", labels.size(), retrieved.images);
        if (first < 1 || first > others) refuse("first: {}; expected 1 to {}", first, others);
        if (retrieved.asked.empty() ||
            retrieved.order.size() != retrieved.asked.size() * static_cast<std::size_t>(others))
            refuse("retrieved: {} images asked, {} in order; expected {} for each",
                   retrieved.asked.size(), retrieved.order.size(), others);
        std::int64_t right = 0;
        for (std::size_t i = 0; i < retrieved.asked.size(); ++i)
            for (std::int64_t j = 0; j < first; ++j)
                right += labels[static_cast<std::size_t>(
                             retrieved.order[i * static_cast<std::size_t>(others) +
                                             static_cast<std::size_t>(j)])] ==
                         labels[static_cast<std::size_t>(retrieved.asked[i])];
        return static_cast<double>(right) /
               (static_cast<double>(retrieved.asked.size()) * static_cast<double>(first));
    });
}

}  // namespace kith
