// Distance kernels on CUDA beyond powers of differences: every form of the direct filter. Their values are the filter's
// own, to the bit; searches by them have the oracle's answers, and the bits of path exact.
#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "direct_panels.h"
#include "gpu/metric/kernels.h"
#include "gpu/runtime/memory/shared_memory.h"
#include "matrix_path_cases.h"
#include "papers/distance/distance.h"
#include "same_answer.h"

namespace {

namespace exact = kith::exact;
namespace gpu = kith::gpu;
using direct_panels::on_device;
using kith::ElementType;

constexpr float infinity = std::numeric_limits<float>::infinity();

// A form for each step.
std::vector<direct_forms::Form> forms(std::int64_t d) {
    std::vector<direct_forms::Form> all = direct_forms::forms(d);
    std::erase_if(all, [](const direct_forms::Form& f) {
        return f.traits.direct == kith::metric::Direct::powers && f.params.p != 2.5 && f.params.p != 3 &&
               f.params.p != 4;
    });
    return all;
}

std::vector<gpu::DistanceKernel> direct_kernels() {
    std::vector<gpu::DistanceKernel> kernels;
    for (const gpu::DistanceKernel& kernel : gpu::distance_kernels)
        if (!kernel.expanded()) kernels.push_back(kernel);
    return kernels;
}

class DirectDistancesBy : public testing::TestWithParam<gpu::DistanceKernel> {};

// Queries [first, first + q) and n points of d coordinates: whole numbers, fractions, zeros, rows that are equal.
struct Rows {
    std::int64_t first, q, n, d;

    std::vector<direct_forms::Vector> draw(const direct_forms::Form& f, std::int64_t count, std::uint64_t seed) const {
        adversarial::Random random(seed);
        std::vector<direct_forms::Vector> rows;
        for (std::int64_t i = 0; i < count; ++i) {
            direct_forms::Vector row;
            for (std::int64_t j = 0; j < d; ++j) {
                const double x = random.gaussian();
                row.push_back(direct_forms::admissible(f, i % 3 == 0 ? std::floor(3 * x) : random.below(4) ? x : 0));
            }
            rows.push_back(i % 7 == 6 ? rows[static_cast<std::size_t>(random.below(i))] : row);
        }
        return rows;
    }

    void check(const gpu::DistanceKernel& kernel, const direct_forms::Form& f) const {
        const exact::DirectForm form = direct_panels::gpu_form(f);
        const auto queries = draw(f, first + q, 5), points = draw(f, n, 6);
        const auto query_words = on_device(direct_panels::panels(form, queries)),
                   point_words = on_device(direct_panels::panels(form, points));
        // A point with a NaN, and one that is not covered; padding.
        std::vector<float> half_norm(static_cast<std::size_t>(gpu::whole_tiles(n)), infinity);
        for (std::int64_t p = 0; p < n; ++p)
            if (p % 50 != 7) half_norm[static_cast<std::size_t>(p)] = p % 50 == 9 ? -infinity : 0.0f;
        const auto h = on_device(direct_panels::with_sizes(form, points, half_norm));
        const auto sizes = on_device(
            direct_panels::with_sizes(form, queries, std::vector<float>(static_cast<std::size_t>(first + q))));
        const std::int64_t width = direct_panels::width_of(form, d), ld = gpu::whole_tiles(n);
        const gpu::Buffer<float> all((first + q) * ld, nullptr), values(q * n, nullptr);
        gpu::FilterPass pass;
        pass.step = form.step;
        pass.exponent = form.exponent;
        pass.queries = query_words.get();
        pass.points = point_words.get();
        pass.half_norm = h.get();
        pass.q = first + q;
        pass.n = pass.count = n;
        pass.width = width;
        pass.all = all.get();
        pass.ld = ld;
        gpu::sweep(pass, gpu::FilterIsa::sm_80, nullptr);
        gpu::distance_matrix(kernel.name, {.step = form.step,
                                           .exponent = form.exponent,
                                           .queries = query_words.get(),
                                           .points = point_words.get(),
                                           .half_norm = h.get(),
                                           .query_size = sizes.get(),
                                           .width = width,
                                           .first_query = first,
                                           .q = q,
                                           .n = n,
                                           .values = values.get()});
        const auto want = direct_panels::on_host(all, (first + q) * ld), got = direct_panels::on_host(values, q * n);
        for (std::int64_t i = 0; i < q; ++i)
            for (std::int64_t p = 0; p < n; ++p) {
                const float filter = want[static_cast<std::size_t>((first + i) * ld + p)],
                            own = got[static_cast<std::size_t>(i * n + p)];
                ASSERT_EQ(0, std::memcmp(&filter, &own, sizeof own))
                    << own << ", not " << filter << ": " << f.name << ", q " << q << " from " << first << ", n " << n
                    << ", d " << d << ", query " << i << ", point " << p;
            }
    }
};

TEST_P(DirectDistancesBy, AreTheDirectFilters) {
    for (const Rows& rows : {Rows{0, 1, 1, 1}, Rows{3, 40, 133, 7}, Rows{0, 5, 129, 33}, Rows{125, 70, 260, 40},
                             Rows{60, 17, 300, 131}, Rows{1, 3, 40, 1100}})
        for (const direct_forms::Form& f : forms(rows.d)) {
            rows.check(GetParam(), f);
            if (HasFatalFailure()) return;
        }
}

// Where shared memory, or a texture, holds a part of the words.
TEST_P(DirectDistancesBy, LittleRoom) {
    struct Limits {
        Limits() {
            gpu::most_shared_bytes = 0;
            gpu::most_texture_words = 3 * 128 * 160;
        }
        ~Limits() {
            gpu::most_shared_bytes = std::numeric_limits<std::int64_t>::max();
            gpu::most_texture_words = std::int64_t{1} << 30;
        }
    } const limits;
    const Rows rows{70, 60, 400, 150};
    for (const direct_forms::Form& f : forms(rows.d)) {
        rows.check(GetParam(), f);
        if (HasFatalFailure()) return;
    }
}

std::string path_of(const gpu::DistanceKernel& kernel) {
    return kernel.name + std::string("+bits");
}

// Every data set by every metric: of kernels but one, by a metric in turn.
TEST_P(DirectDistancesBy, EveryDataSet) {
    const std::vector<std::string> metrics = {"canberra", "braycurtis", "hamming", "jaccard", "dice", "jensenshannon"};
    const bool all = GetParam().name == std::string("register-tiled");
    std::uint64_t turn = std::string(GetParam().name).size();
    for (const std::string& data : adversarial::names())
        for (std::size_t m = 0; m < (all ? metrics.size() : 1); ++m) {
            const std::string& metric = metrics[++turn % metrics.size()];
            const ElementType type = turn % 2 ? ElementType::f32 : arrays::element_types[turn / 2 % 6];
            const search_cases::Size size{600, 15, turn % 3 ? 16 : 37, 10};
            const auto variants_of = variants(metric, size.d, type);
            const auto c = search_cases::make_case(variants_of[turn / 2 % variants_of.size()], data, size, type, type,
                                                   arrays::shapes[turn % 3], turn);
            const bool small_memory = turn % 5 == 0;
            const auto got = search_cases::answer("cuda", c, {path_of(GetParam()), "", 0, small_memory}, true);
            const std::string label = c.label + (small_memory ? ", small memory" : "");
            ASSERT_TRUE(got) << label;
            ASSERT_EQ("", c.truth().difference(*got)) << label;
            EXPECT_EQ(path_of(GetParam()), got->report.path) << label;
            EXPECT_EQ(size.q, got->report.certified + got->report.retried + got->report.scanned) << label;
        }
}

// Coordinates that make each step serve: few values and many, bytes, packed bits.
struct Data {
    const char* metric;
    ElementType type;
    double largest;
    bool packed;
};
constexpr Data every_step[] = {
    {"canberra", ElementType::f32, 0, false},      {"braycurtis", ElementType::f32, 0, false},
    {"jensenshannon", ElementType::f32, 0, false}, {"hamming", ElementType::f32, 3, false},
    {"hamming", ElementType::f32, 5000, false},    {"hamming", ElementType::u8, 255, false},
    {"hamming", ElementType::u8, 255, true},       {"jaccard", ElementType::f32, 2, false},
    {"jaccard", ElementType::u8, 255, true},       {"dice", ElementType::f32, 2, false},
    {"dice", ElementType::u8, 255, true}};

TEST(DirectDistances, TheBitsOfPathExact) {
    constexpr std::int64_t n = 5000, q = 140, d = 67, k = 15;
    for (const Data& data : every_step) {
        adversarial::Random random(9);
        std::vector<double> points, queries;
        const auto draw = [&](std::vector<double>& to, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i)
                to.push_back(data.largest > 0 ? std::floor(random.uniform() * data.largest) : random.uniform());
        };
        draw(points, n * d);
        draw(queries, q * d);
        // Integer types see the numbers at twenty times their size (arrays.h).
        if (data.type == ElementType::u8)
            for (auto* const rows : {&points, &queries})
                for (double& x : *rows) x /= 20;
        const arrays::Array p = arrays::make(points, n, d, data.type, arrays::Shape::dense),
                            r = arrays::make(queries, q, d, data.type, arrays::Shape::dense);
        kith::Options options;
        options.device = "cuda";
        options.metric = kith::metric_named(data.metric);
        options.metric.packed_bits = data.packed;
        options.path = "exact";
        const auto want = kith::search(p.view, r.view, k, options);
        for (const gpu::DistanceKernel& kernel : direct_kernels()) {
            options.path = path_of(kernel);
            const auto got = kith::search(p.view, r.view, k, options);
            const std::string label = options.path + ": " + data.metric + " of " + kith::name(data.type) + " below " +
                                      std::to_string(data.largest) + (data.packed ? ", packed" : "");
            ASSERT_TRUE(same_answer(want, got)) << label;
            EXPECT_EQ(0, got.report.scanned) << label;
        }
    }
}

std::string test_name(const testing::TestParamInfo<gpu::DistanceKernel>& info) {
    std::string name = info.param.name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}
INSTANTIATE_TEST_SUITE_P(Gpu, DirectDistancesBy, testing::ValuesIn(direct_kernels()), test_name);

}  // namespace
