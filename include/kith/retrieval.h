// Retrieving images by information (Garcia, Debreuve and Barlaud 2008, section 3.3; Piro et al. 2008): an image is a
// sample of its patches at several scales, and others are as near as their patches' Kullback-Leibler divergences from
// these, summed over the scales, are small.
//
//     std::vector<std::vector<kith::FeatureSet>> sets;                       // of each image those of its scales
//     for (const kith::MatrixView& image : images) sets.push_back(kith::image_features(image, 3, sets.size()));
//     kith::Retrieved r = kith::retrieve(kith::views(sets), 10);
//     r.order[0];   // the image nearest to image 0
#pragma once

#include <cstdint>
#include <vector>

#include "kith/estimators.h"
#include "kith/export.h"
#include "kith/types.h"

namespace kith {

// What an image is a sample of, at one scale: n x d, row-major.
struct FeatureSet {
    std::int64_t n = 0, d = 0;
    std::vector<float> values;
    MatrixView view() const { return kith::view(values.data(), n, d); }
};

// Features of an image at three scales of its Gaussian pyramid g_0, g_1, ... (5 taps 1 4 6 4 1, reflected at the
// edges):
//   bands 1 and 2 of the luminance's Laplacian pyramid: 3 x 3 coefficients, and the 3 x 3 at the same place of the next
//   coarser band: 18 numbers;
//   g_3: 3 x 3 pixels of luminance and, of colour images, both chrominances: 27 numbers (9 of grey ones).
// At most 4,800, 2,400 and 1,200 of them, on the finest grid that has no more: just as many of 320 x 240 pixels. To
// whole-numbered pixels noise within half a level is added, of SplitMix64 at `seed`, as equal samples have no distance.
//   image   height x (width * channels), channels interleaved (RGB), of any searchable type, in host memory; both
//             sides at least 32.
//   channels  1 or 3.
//   seed    of each image of a collection another: images of the same noise are alike in their flat areas, and their
//             divergences too small.
// Computed in binary64, rounded to f32: the same bits everywhere. Throws invalid_argument.
KITH_EXPORT std::vector<FeatureSet> image_features(const MatrixView& image, int channels, std::uint64_t seed = 0);
// Views of them, for retrieve().
KITH_EXPORT std::vector<std::vector<MatrixView>> views(const std::vector<std::vector<FeatureSet>>& sets);

struct RetrievalOptions {
    DivergenceForm form = DivergenceForm::nearest;
    bool both_ways = false;           // D(a || b) + D(b || a)
    std::vector<std::int64_t> asked;  // the images that ask; empty: all
    Options search;                   // as kl_divergence() takes them
};

struct Retrieved {
    std::int64_t images = 0;
    std::vector<std::int64_t> asked;
    // asked x images, nats: the divergence of the image that asks from each, summed over the scales in their order; 0
    // of itself. Of a scale at which all samples are left out: -infinity where each has k equal ones in the other image
    // (a duplicate, at k = 1), else NaN (an image all of whose samples are equal): nothing can be estimated.
    std::vector<double> divergences;
    // asked x (images - 1): the others, by (divergence, smaller image), NaN last.
    std::vector<std::int64_t> order;
    std::int64_t left_out = 0;  // samples, over all divergences: those of equal samples
};

// `images`: of each the samples of its scales; as many scales of each, of the same dimensions at the same scale. Each
// scale's part is kl_divergence() of the two samples, for which an image's distances within itself are found once, and
// samples of all images are scaled together. Complexity: a search for each pair and scale.
//   images >= 2; k below each sample's size. Throws what kl_divergence() throws, but where all samples are left out.
KITH_EXPORT Retrieved retrieve(const std::vector<std::vector<MatrixView>>& images, std::int64_t k,
                               const RetrievalOptions& options = {});

// The share of the first `first` images of each that asked that have its label; labels: of each image.
//   1 <= first < images.
KITH_EXPORT double precision_at(const Retrieved& retrieved, const std::vector<std::int64_t>& labels,
                                std::int64_t first);

}  // namespace kith
