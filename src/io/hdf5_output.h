// An HDF5 file being written: data sets and attributes added to what it holds already.
#pragma once

#include <functional>
#include <string>

#include "io/hdf5_device.h"

namespace kith::io {

class Hdf5Output {
public:
    // Takes over what the file of that name holds. `file` must outlive it. Throws bad_file.
    Hdf5Output(PendingFile& file, bool force, const std::function<bool()>& keep_going);
    ~Hdf5Output();
    Hdf5Output(const Hdf5Output&) = delete;
    Hdf5Output& operator=(const Hdf5Output&) = delete;

    // Makes room for a data set: with force removes the one of that name, without it throws
    // invalid_argument.
    void reserve(const std::string& dataset);
    // Writes the attributes distance, kith_metric and the metric's parameters. Another metric is
    // replaced with force, and refused as invalid_argument without it.
    void set_metric(const Metric& metric);
    // A scalar attribute of the file, in the place of one of that name; text as h5py stores a str.
    void set_attribute(const char* name, hid_t type, const void* value);
    void set_text(const char* name, const std::string& text);
    bool has_attribute(const char* name) const;

    // A contiguous rows x cols data set, with its groups.
    Hdf5Handle create(const std::string& dataset, const FileInfo& info);
    // Rows [first, first + count), dense, of info.type.
    void write_rows(hid_t dataset, const FileInfo& info, std::int64_t first, std::int64_t count,
                    const void* rows);

    // Completes the file; it is not used after that.
    void finish();

private:
    const std::string& name() const { return pending_.file(); }

    PendingFile& pending_;
    Hdf5Device device_;
    bool force_;
    Hdf5Handle file_;
};

// "a//b/" and "./a/b" are "a/b".
std::string normal_dataset(const std::string& dataset);

}  // namespace kith::io
