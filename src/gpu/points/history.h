// The record of searches of points: counts, from which later searches decide what to try.
// They never change an answer.
#pragma once

#include <cstdint>
#include <mutex>

#include "exact/bounds/projection_record.h"
#include "gpu/points/pca/pilots.h"

namespace kith::gpu {

// The counts as one call sees them; for one thread.
struct Learned {
    // Results of queries with a form that serves some of them: `left` have no certificate.
    struct Record {
        std::int64_t tried = 0, left = 0, passed_over = 0;
        // If the form does not pay, one tile in tried_again tries it again: queries may differ.
        static constexpr std::int64_t tried_again = 16;

        void note(std::int64_t queries, std::int64_t without) {
            tried += queries;
            left += without;
        }
        // True if the next tile tries it; counts the tile.
        bool take_turn() {
            return exact::ProjectionRecord::pays(tried, left) || ++passed_over % tried_again == 0;
        }
        void add(const Record& before, const Record& after) {
            tried += after.tried - before.tried;
            left += after.left - before.left;
            passed_over += after.passed_over - before.passed_over;
        }
    };
    // The projection: by passes, and as values of very few queries. by_clusters: one cluster alone.
    Record by_passes, as_values, by_clusters;
    Pilots pilots;
    // The int8 bias columns with a reach that pilots found sufficient: the projection's own; more
    // planes, 1 << terms of them; or none.
    enum Terms { own_terms, two_planes, four_planes, no_terms };
    int terms = own_terms;
    bool coarse_misleads = false;  // queries have found the coarse direct form too loose
    std::int64_t needless = 0;     // candidates beyond the number that the neighbours need
};

// The counts of some points; safe for concurrent use. A call reads them once, before its first
// decision, and adds its own at its end: calls of other threads change none of its decisions.
class History {
public:
    Learned read() const {
        const std::lock_guard lock(mutex_);
        return all_;
    }
    // Adds the difference.
    void add(const Learned& before, const Learned& after) {
        const std::lock_guard lock(mutex_);
        all_.by_passes.add(before.by_passes, after.by_passes);
        all_.as_values.add(before.as_values, after.as_values);
        all_.by_clusters.add(before.by_clusters, after.by_clusters);
        all_.pilots.add(before.pilots, after.pilots);
        if (after.terms != before.terms) all_.terms = after.terms;
        all_.coarse_misleads |= after.coarse_misleads;
        all_.needless += after.needless - before.needless;
    }

private:
    mutable std::mutex mutex_;
    Learned all_;
};

}  // namespace kith::gpu
