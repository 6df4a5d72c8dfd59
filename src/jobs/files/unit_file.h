// The result of a unit: one file with a checksum. It has its name only once it is whole and on the
// disk. Integers are 64-bit, little-endian.
//
//     64 bytes   "kithunit", the job's id, shard, block, rows, k, dimensions
//     ids        rows x k, 64 bits, counted among all points
//     keys       rows x k, binary64: the neighbours' order, +inf for a missing one
//     8 bytes    CRC-32 of all that
#pragma once

#include <optional>
#include <string>

#include "jobs/job.h"
#include "kith/error.h"
#include "kith/shards.h"

namespace kith::groundtruth {

// Replaces a file of that name, which would have equal contents. A symbolic link is replaced
// itself, not its target.
void write_unit(const Job& job, const WorkUnit& unit, const PartialNeighbors& found);
// True if a file of the right size claims to be this unit of this job; does not read the rest.
bool has_unit(const Job& job, const WorkUnit& unit);
// A readable file that is not the whole result of its unit.
struct DamagedUnit : Error {
    explicit DamagedUnit(const std::string& what) : Error(ErrorCode::bad_file, what) {}
};
// None if there is no such file. Throws DamagedUnit, naming the fault: size, header, checksum, or
// lists that no search of the shard produces. Throws bad_file if it is no regular file or cannot be
// read, which says nothing about its contents, and out_of_memory.
std::optional<PartialNeighbors> read_unit(const Job& job, const WorkUnit& unit);
// Renames a damaged file, so that a worker does the unit again; returns a description.
std::string set_aside(const Job& job, const WorkUnit& unit);
// Removes temporary files of workers that were killed while writing.
void remove_leftovers(const Job& job, const WorkUnit& unit);

}  // namespace kith::groundtruth
