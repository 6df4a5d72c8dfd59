// The result of a unit: one file with a checksum, which is under its name only when it is whole and on the disk.
//
//     64 bytes   "kithunit", the job's id, shard, block, rows, k, dimensions; integers of 64 bits, little-endian
//     ids        rows x k, 64 bits, counted among all points
//     keys       rows x k, binary64: what the neighbours are ordered by, +inf where there is none
//     8 bytes    CRC-32 of all that
#pragma once

#include <string>

#include "groundtruth/job.h"
#include "kith/shards.h"

namespace kith::cli::groundtruth {

// Replaces a file of that name, which would be the same.
void write_unit(const Job& job, const Unit& unit, const PartialNeighbors& found);
// Whether there is a file of the right size that says it is this unit of this job; does not read the rest.
bool has_unit(const Job& job, const Unit& unit);
// Throws bad_file, saying what is wrong, where it is not there or damaged.
PartialNeighbors read_unit(const Job& job, const Unit& unit);
// Renames a damaged file out of the way, so that a worker does the unit again; says how that went.
std::string set_aside(const Job& job, const Unit& unit);
// Removes what workers that were killed while they wrote it have left.
void remove_leftovers(const Job& job, const Unit& unit);

}  // namespace kith::cli::groundtruth
