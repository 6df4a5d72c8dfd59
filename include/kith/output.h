// Output files: opened under temporary names before the work, renamed together after it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kith/export.h"
#include "kith/types.h"

namespace kith {

// The files that one task writes. Each is opened under a temporary name next to its own, when added, and renamed by
// commit(). Without commit() the destructor removes the temporary files, and nothing that existed has changed. An
// existing file is replaced, with its mode kept and its owner where permitted. A data set is added to an HDF5 file,
// next to the existing ones. One thread at a time.
class OutputSet {
public:
    // force: replaces existing data sets of an HDF5 file; without it they cause invalid_argument. keep_going: called
    // from time to time while a large HDF5 file is copied; false ends that with cancelled.
    KITH_EXPORT explicit OutputSet(bool force = false, std::function<bool()> keep_going = {});
    KITH_EXPORT ~OutputSet();
    OutputSet(const OutputSet&) = delete;
    OutputSet& operator=(const OutputSet&) = delete;

    // Declares a file that the task reads, in MatrixReader's syntax, with its name in messages ("--base"). No output
    // may be that file, by whatever path, except another data set of the same HDF5 file. Declare inputs before outputs.
    KITH_EXPORT void reads(const std::string& what, const std::string& path);

    // A matrix for MatrixWriter; the format follows the suffix unless named. Throws bad_file if it cannot be written,
    // and invalid_argument if it is an input or another output.
    KITH_EXPORT void add(const std::string& what, const std::string& path, const std::string& format = "");
    // Treatment of a symbolic link at an output's path: write to its target, or replace the link.
    enum class Links { follow, replace };
    // A file of bytes for FileWriter.
    KITH_EXPORT void add_bytes(const std::string& what, const std::string& path, Links links = Links::follow);
    // A file for write_big_ann_truth, and one for write_ann_benchmarks, with the data sets train and test if they will
    // be given. The latter records its metric at once; a file that names another metric is rejected without force.
    KITH_EXPORT void add_big_ann_truth(const std::string& what, const std::string& path);
    KITH_EXPORT void add_ann_benchmarks(const std::string& what, const std::string& path, const Metric& metric,
                                        bool train, bool test);

    // Renames all. Every file must have been written. On return they are on the disk, as far as the system reports.
    KITH_EXPORT void commit();

    struct State;
    State& state() { return *state_; }  // for the writers

private:
    std::unique_ptr<State> state_;
};

// Writes the bytes of a file that was added to `outputs`, which must outlive the writer.
class FileWriter {
public:
    KITH_EXPORT FileWriter(OutputSet& outputs, const std::string& path);
    KITH_EXPORT ~FileWriter();
    KITH_EXPORT FileWriter(FileWriter&&) noexcept;
    KITH_EXPORT FileWriter& operator=(FileWriter&&) noexcept;

    KITH_EXPORT void write(const void* bytes, std::int64_t count);
    KITH_EXPORT void finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Removes the temporary files of every OutputSet. For a signal handler that ends the process: async-signal-safe.
KITH_EXPORT void remove_temporary_files() noexcept;

}  // namespace kith
