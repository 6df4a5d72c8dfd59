// The k-th smallest of some values, of every instruction set: as std::nth_element has it.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "adversarial.h"
#include "cpu/primitives/kth.h"

namespace {

using namespace kith;

TEST(Kth, IsThatOfASort) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    adversarial::Random random(1);
    for (const cpu::Isa isa : {cpu::Isa::baseline, cpu::Isa::avx2, cpu::Isa::avx512, cpu::Isa::amx}) {
        if (!cpu::supported(isa)) continue;
        for (std::int64_t count = 1; count < 140; ++count) {
            // Any, few values, signs and both ends of f32, all equal.
            for (int kind = 0; kind < 4; ++kind) {
                std::vector<float> values(static_cast<std::size_t>(count));
                for (float& v : values) {
                    const float any = static_cast<float>(random.gaussian());
                    const float ends[] = {0.0f, infinity, -infinity, 1e-45f, -1e-45f, 3e38f, -3e38f, any};
                    v = kind == 0   ? any
                        : kind == 1 ? static_cast<float>(random.below(4))
                        : kind == 2 ? ends[random.below(8)]
                                    : infinity;
                }
                std::vector<float> sorted = values;
                std::sort(sorted.begin(), sorted.end());
                for (const std::int64_t k : {std::int64_t{1}, (count + 1) / 2, count}) {
                    std::vector<float> own = values;
                    ASSERT_EQ(sorted[static_cast<std::size_t>(k - 1)], cpu::kth_smallest(isa)(own.data(), count, k))
                        << cpu::name(isa) << ", " << k << " of " << count << ", kind " << kind;
                }
            }
        }
    }
}

}  // namespace
