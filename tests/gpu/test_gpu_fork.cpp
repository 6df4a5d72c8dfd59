// A child of a process that has used CUDA: it is told so, at once, and searches on its CPU.
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "adversarial.h"
#include "gpu_arrays.h"
#include "kith/kith.h"

namespace {

constexpr std::int64_t n = 3000, q = 40, d = 16, k = 5;

// What goes wrong in the child, by bit.
enum Wrong : int {
    other_neighbours = 1,
    silent_plan = 2,
    no_error = 4,
    other_error = 8,
    index_searched = 16,
    died = 32,
    silent_view = 64
};

int in_child(const kith::MatrixView& points, const kith::MatrixView& queries, const kith::Neighbors& want,
             std::unique_ptr<kith::Index> index) {
    int wrong = 0;
    kith::Options options;
    const auto got = kith::search(points, queries, k, options);
    if (got.ids != want.ids || got.distances != want.distances) wrong |= other_neighbours;
    const kith::Plan plan = kith::plan({n, q, d, k, kith::ElementType::f32, false}, options);
    if (plan.device != kith::host_memory || plan.why.find("forked") == std::string::npos) wrong |= silent_plan;
    const auto refused = [&](auto call, Wrong otherwise) {
        try {
            call();
            wrong |= otherwise;
        } catch (const kith::Error& error) {
            if (error.code() != kith::ErrorCode::device ||
                std::string(error.what()).find("forked") == std::string::npos)
                wrong |= other_error;
        }
    };
    // Points that are said to lie on a device.
    kith::MatrixView there = points;
    there.device = 0;
    try {
        kith::search(there, queries, k, options);
        wrong |= silent_view;
    } catch (const kith::Error& error) {
        if (error.code() != kith::ErrorCode::invalid_argument ||
            std::string(error.what()).find("forked") == std::string::npos)
            wrong |= silent_view;
    }
    options.device = "cuda";
    refused([&] { kith::search(points, queries, k, options); }, no_error);
    refused([&] { const kith::Index another(points, options); }, no_error);
    refused([&] { index->search(queries, k); }, index_searched);
    index.reset();
    return wrong;
}

TEST(GpuFork, AChildSearchesOnItsCpu) {
    const auto set = adversarial::make("clusters", n, q, d, 3);
    const auto points = arrays::make(set.points, n, d, kith::ElementType::f32),
               queries = arrays::make(set.queries, q, d, kith::ElementType::f32);
    kith::Options options;
    options.device = "cuda";
    const kith::Neighbors want = kith::search(points.view, queries.view, k, options);
    auto index = std::make_unique<kith::Index>(points.view, options);
    index->search(queries.view, k);
    const pid_t child = fork();
    ASSERT_LE(0, child);
    if (child == 0) {
        alarm(60);
        int wrong = died;
        try {
            wrong = in_child(points.view, queries.view, want, std::move(index));
        } catch (...) {
        }
        _exit(wrong);
    }
    int status = 0;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(0, WEXITSTATUS(status));
    EXPECT_EQ(want.ids, index->search(queries.view, k).ids);
}

}  // namespace
