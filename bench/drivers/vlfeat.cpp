// SIFT features by VLFeat, for bench/matching.py: vl_sift's defaults, all octaves from the doubled image on.
#include <vl/sift.h>

#include <cstdint>

// image: height x width, row-major, 0 to 255. Writes at most `capacity` descriptors of 128 values, and returns how many
// there are.
extern "C" std::int64_t vlfeat_features(const float* image, int width, int height, double peak_threshold,
                                        float* descriptors, std::int64_t capacity) {
    constexpr int levels = 3, first_octave = -1, dimensions = 128;
    VlSiftFilt* filter = vl_sift_new(width, height, -1, levels, first_octave);
    vl_sift_set_peak_thresh(filter, peak_threshold);
    vl_sift_set_edge_thresh(filter, 10);
    std::int64_t count = 0;
    for (int error = vl_sift_process_first_octave(filter, image); error == 0;
         error = vl_sift_process_next_octave(filter)) {
        vl_sift_detect(filter);
        const VlSiftKeypoint* keypoints = vl_sift_get_keypoints(filter);
        for (int i = 0; i < vl_sift_get_nkeypoints(filter); ++i) {
            double angles[4];
            const int directions = vl_sift_calc_keypoint_orientations(filter, angles, &keypoints[i]);
            for (int j = 0; j < directions; ++j, ++count)
                if (count < capacity)
                    vl_sift_calc_keypoint_descriptor(filter, descriptors + count * dimensions, &keypoints[i],
                                                     angles[j]);
        }
    }
    vl_sift_delete(filter);
    return count;
}
