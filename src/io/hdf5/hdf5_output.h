// An HDF5 file being written: adds data sets and attributes to existing contents.
#pragma once

#include <functional>
#include <string>

#include "io/hdf5/hdf5_device.h"

namespace kith::io {

class Hdf5Output {
public:
    // Takes over the contents of the existing file. `file` must outlive the object. Throws
    // bad_file.
    Hdf5Output(PendingFile& file, bool force, const std::function<bool()>& keep_going);
    ~Hdf5Output();
    Hdf5Output(const Hdf5Output&) = delete;
    Hdf5Output& operator=(const Hdf5Output&) = delete;

    // Makes room for a data set. If the name exists, `force` removes it; otherwise throws
    // invalid_argument.
    void reserve(const std::string& dataset);
    // Writes the attributes distance, kith_metric and the metric's parameters. A different metric
    // is replaced with `force`, otherwise invalid_argument is thrown.
    void set_metric(const Metric& metric);
    // Sets a scalar attribute of the file, replacing one of that name; text in h5py's form of a
    // str.
    void set_attribute(const char* name, hid_t type, const void* value);
    void set_text(const char* name, const std::string& text);
    bool has_attribute(const char* name) const;

    // Creates a contiguous rows x cols data set, with its groups.
    Hdf5Handle create(const std::string& dataset, const FileInfo& info);
    // Writes rows [first, first + count), dense, of info.type.
    void write_rows(hid_t dataset, const FileInfo& info, std::int64_t first, std::int64_t count,
                    const void* rows);

    // Completes the file; the object must not be used afterwards.
    void finish();

private:
    const std::string& name() const { return pending_.file(); }

    PendingFile& pending_;
    Hdf5Device device_;
    bool force_;
    Hdf5Handle file_;
};

// Normalises a name: "a//b/" and "./a/b" are "a/b".
std::string normal_dataset(const std::string& dataset);

}  // namespace kith::io
