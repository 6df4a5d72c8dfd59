// What devices that share the pairs of a graph show each other, and where they wait for each other.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "exact/progress.h"
#include "gpu/backend.h"
#include "gpu/filter/pass.h"

namespace kith::gpu {

class GraphExchange {
public:
    // What a part shows. Set by itself before meet(), read by the others after it; device memory stays valid until
    // the part leaves.
    struct Shown {
        int device = 0;
        std::int64_t first = 0, count = 0;  // its rows of the graph
        std::vector<std::byte> form;  // all that its filter depends on: equal on all devices, or they do not share
        std::int64_t needed = 0;      // the list that a row needs for all points
        const float* thresholds = nullptr;  // of its rows
        const float* errors = nullptr;      // CandidateLists::query_error of its rows
        // Candidates that it found for all rows, those of row i from packed[offsets[i]] on; which rows' lists lost
        // some.
        const Candidate* packed = nullptr;
        const unsigned long long* offsets = nullptr;  // n + 1
        const std::uint8_t* lost = nullptr;
    };

    explicit GraphExchange(int parts) : shown_(static_cast<std::size_t>(parts)) {}

    int parts() const { return static_cast<int>(shown_.size()); }
    Shown& of(int part) { return shown_[static_cast<std::size_t>(part)]; }

    // Waits until all parts have come here. Throws GraphAbandoned where one does not, or what a cancellation throws.
    void meet(ProgressMeter& progress);
    // All parts have met, or none will again: those that wait stop.
    void abandon();

    // While a part reads what others have shown. Throws GraphAbandoned.
    class Reading {
    public:
        explicit Reading(GraphExchange& exchange);
        ~Reading();
        Reading(const Reading&) = delete;
        Reading& operator=(const Reading&) = delete;

    private:
        GraphExchange& exchange_;
    };
    // Declared after what a part shows: where it goes before the last meeting, the others stop, and read no more.
    class Stay {
    public:
        explicit Stay(GraphExchange* exchange) : exchange_(exchange) {}
        ~Stay();
        void done() { exchange_ = nullptr; }
        Stay(const Stay&) = delete;
        Stay& operator=(const Stay&) = delete;

    private:
        GraphExchange* exchange_;
    };

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int waiting_ = 0, reading_ = 0;
    std::int64_t meetings_ = 0;
    bool abandoned_ = false;
    std::vector<Shown> shown_;
};

}  // namespace kith::gpu
