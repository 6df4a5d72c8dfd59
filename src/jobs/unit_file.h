// The result of a unit: one file with a checksum, which is under its name only when it is whole and
// on the disk.
//
//     64 bytes   "kithunit", the job's id, shard, block, rows, k, dimensions; integers of 64 bits,
//     little-endian ids        rows x k, 64 bits, counted among all points keys       rows x k,
//     binary64: what the neighbours are ordered by, +inf where there is none 8 bytes    CRC-32 of
//     all that
#pragma once

#include <optional>
#include <string>

#include "jobs/job.h"
#include "kith/error.h"
#include "kith/shards.h"

namespace kith::groundtruth {

// Replaces a file of that name, which would be the same; a link of that name, not the file that it
// names.
void write_unit(const Job& job, const WorkUnit& unit, const PartialNeighbors& found);
// Whether there is a file of the right size that says it is this unit of this job; does not read
// the rest.
bool has_unit(const Job& job, const WorkUnit& unit);
// A file that can be read and is not the whole result of its unit.
struct DamagedUnit : Error {
    explicit DamagedUnit(const std::string& what) : Error(ErrorCode::bad_file, what) {}
};
// None where there is no such file. Throws DamagedUnit, saying what is wrong: size, header,
// checksum, or lists that are no result of the shard. Throws bad_file where it is no regular file
// or cannot be read, which says nothing of what it holds, and out_of_memory.
std::optional<PartialNeighbors> read_unit(const Job& job, const WorkUnit& unit);
// Renames a damaged file out of the way, so that a worker does the unit again; says how that went.
std::string set_aside(const Job& job, const WorkUnit& unit);
// Removes what workers that were killed while they wrote it have left.
void remove_leftovers(const Job& job, const WorkUnit& unit);

}  // namespace kith::groundtruth
