// Image retrieval by information (Garcia, Debreuve and Barlaud 2008, section 3.3; Piro et al. 2008). An image is a
// sample of its patches at several scales. The distance of two images is the Kullback-Leibler divergence of their
// patches, summed over the scales.
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

// The sample of an image at one scale: n x d, row-major.
struct FeatureSet {
    std::int64_t n = 0, d = 0;
    std::vector<float> values;
    MatrixView view() const { return kith::view(values.data(), n, d); }
};

// Features of an image at three scales of its Gaussian pyramid g_0, g_1, ... (5 taps 1 4 6 4 1, reflected at the
// edges):
//   Bands 1 and 2 of the luminance's Laplacian pyramid: 3 x 3 coefficients, and the 3 x 3 at the same place of the next
//   coarser band: 18 numbers.
//   g_3: 3 x 3 pixels of luminance and, for colour images, both chrominances: 27 numbers (9 for grey ones).
// At most 4,800, 2,400 and 1,200 features, on the finest grid with no more; exactly these for 320 x 240 pixels. Integer
// pixels receive noise within half a level, from SplitMix64 at `seed`, because equal samples have distance 0.
//   image   height x (width * channels), channels interleaved (RGB), of any searchable type, in host memory; both
//           sides at least 32.
//   channels  1 or 3.
//   seed    different for each image of a collection: with equal noise, flat areas of images are alike, and their
//           divergences too small.
// Computed in binary64, rounded to f32: bit-identical everywhere. Throws invalid_argument.
KITH_EXPORT std::vector<FeatureSet> image_features(const MatrixView& image, int channels, std::uint64_t seed = 0);
// Views of the sets, for retrieve().
KITH_EXPORT std::vector<std::vector<MatrixView>> views(const std::vector<std::vector<FeatureSet>>& sets);

struct RetrievalOptions {
    DivergenceForm form = DivergenceForm::nearest;
    bool both_ways = false;           // D(a || b) + D(b || a)
    std::vector<std::int64_t> asked;  // the query images; empty: all
    Options search;                   // see kl_divergence()
};

struct Retrieved {
    std::int64_t images = 0;
    std::vector<std::int64_t> asked;
    // asked x images, nats: the divergence of each query image from each image, summed over the scales in order; 0 from
    // itself. A scale with all samples left out contributes -infinity if each has k equal ones in the other image (a
    // duplicate, at k = 1). Otherwise, for an image of equal samples, it contributes NaN: nothing can be estimated.
    std::vector<double> divergences;
    // asked x (images - 1): the other images, by (divergence, smaller image), NaN last.
    std::vector<std::int64_t> order;
    std::int64_t left_out = 0;  // samples left out over all divergences, because of duplicates
};

// `images`: for each image, the samples of its scales. All images have equally many scales, with equal dimensions at
// each. Each scale contributes kl_divergence() of the two samples. An image's distances within itself are computed
// once, and samples of all images are scaled together. Complexity: one search per pair and scale.
//   images >= 2; k below each sample's size. Throws what kl_divergence() throws, except if all samples are left out.
KITH_EXPORT Retrieved retrieve(const std::vector<std::vector<MatrixView>>& images, std::int64_t k,
                               const RetrievalOptions& options = {});

// The mean share, over all query images, of their first `first` images that have their label; labels: one per image.
//   1 <= first < images.
KITH_EXPORT double precision_at(const Retrieved& retrieved, const std::vector<std::int64_t>& labels,
                                std::int64_t first);

}  // namespace kith
