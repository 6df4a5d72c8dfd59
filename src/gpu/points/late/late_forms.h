// The forms of points that searches make when they first need them: other filters, a tree,
// duplicate rows. They outlive the call that makes them, and count as memory of the next ones.
#pragma once

#include <array>
#include <cstdint>
#include <shared_mutex>

#include "gpu/points/history.h"
#include "gpu/points/late/form_slot.h"

namespace kith::gpu {

struct FilterVectors;  // points.h
struct Tree;           // gpu/tree/tree.h
struct Repeats;        // repeats.h
struct ByteTermRows;   // projection.h

// Thread-safe.
struct LateForms {
    FormSlot<FilterVectors> one_term, two_terms, direct_coarse, direct;
    FormSlot<Tree> tree;
    FormSlot<Repeats> repeats;
    std::array<FormSlot<ByteTermRows>, Learned::no_terms> wider;
    // Calls share it while they may use a form; forget() has it alone.
    std::shared_mutex in_use;

    std::int64_t bytes() const;
    // Destroys the forms that searches have made, unless a call uses the points.
    void forget();
};

}  // namespace kith::gpu
