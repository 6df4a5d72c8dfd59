// Judges the storage of HDF5 data sets.
#include "io/hdf5_storage.h"

#include <algorithm>

#include "io/errors.h"

namespace kith::io {
namespace {

void require_chunk_count(const Hdf5Data& data) {
    const Hdf5Handle space(H5Dget_space(data.dataset), H5Sclose);
    hsize_t written = 0, expected = 1;
    if (H5Dget_num_chunks(data.dataset, space, &written) < 0) {
        bad_file(data.name, hdf5_why("cannot read the list of chunks"));
    }
    for (std::size_t i = 0; i < data.shape.size(); ++i) {
        if (__builtin_mul_overflow(expected, (data.shape[i] - 1) / data.chunk[i] + 1, &expected)) {
            expected = static_cast<hsize_t>(-1);
            break;
        }
    }
    if (written < expected) {
        bad_file(
            data.name,
            fmt::format(
                "expected all of its {} chunks, found that {} were written: the data set is not "
                "complete",
                expected, written));
    }
}

// The bytes to which the chunk at `place` decodes; -1 where it does not.
std::int64_t decoded_size(const Hdf5Data& data, const std::vector<hsize_t>& place,
                          std::int64_t stored) {
    // A chunk is stored in less than 2^32 bytes, by the format.
    if (data.filters.empty()) return stored;
    if (stored > UINT32_MAX) return -1;
    std::vector<std::uint8_t> raw(static_cast<std::size_t>(stored));
    std::uint32_t skipped = 0;
    if (H5Dread_chunk(data.dataset, H5P_DEFAULT, place.data(), &skipped, raw.data()) < 0) return -1;
    return hdf5_decoded_size(data.filters, skipped, std::move(raw), data.element_bytes,
                             data.chunk_bytes);
}

}  // namespace

void require_storage(Hdf5Data& data, const FileInfo& info) {
    const Hdf5Handle properties(H5Dget_create_plist(data.dataset), H5Pclose);
    const H5D_layout_t layout = H5Pget_layout(properties);
    if ((layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED && layout != H5D_COMPACT) ||
        H5Pget_external_count(properties) != 0) {
        bad_file(data.name, "expected the data in this file, found a virtual or external data set");
    }
    data.filters = hdf5_filters(data.name, properties);
    // Elements of other types are no larger in the file.
    const std::int64_t bytes = info.rows * info.cols * data.element_bytes;
    const hsize_t stored = H5Dget_storage_size(data.dataset);
    const auto limit = static_cast<hsize_t>(data.file.size());
    const haddr_t start = layout == H5D_CONTIGUOUS && stored > 0 ? H5Dget_offset(data.dataset) : 0;
    if (stored > limit || start > limit - stored) {
        bad_bytes(data.name, static_cast<std::int64_t>(std::min<haddr_t>(start, limit)),
                  fmt::format("{} bytes of data", stored),
                  fmt::format("the end of the file at {}", limit));
    }
    std::int64_t most = 0;
    if (__builtin_mul_overflow(static_cast<std::int64_t>(stored),
                               hdf5_largest_expansion(data.filters), &most))
        most = INT64_MAX;
    if (bytes > most) {
        bad_file(data.name, fmt::format("expected {} bytes of data ({} x {} {}), found at most {}",
                                        bytes, info.rows, info.cols, name(info.type), most));
    }
    if (layout != H5D_CHUNKED) return;
    // The library allocates a whole chunk to read a part of it.
    data.chunk.resize(data.shape.size());
    H5Pget_chunk(properties, static_cast<int>(data.chunk.size()), data.chunk.data());
    data.chunk_bytes = data.element_bytes;
    for (const hsize_t extent : data.chunk) {
        if (!__builtin_mul_overflow(data.chunk_bytes, extent, &data.chunk_bytes) &&
            data.chunk_bytes <= most)
            continue;
        bad_file(data.name,
                 fmt::format("expected chunks of at most {} bytes, found larger ones", most));
    }
    require_chunk_count(data);
}

void require_chunks(const Hdf5Data& data, std::int64_t first, std::int64_t count) {
    if (data.chunk.empty()) return;
    std::vector<hsize_t> end = data.shape;
    end[0] = static_cast<hsize_t>(first) + static_cast<hsize_t>(count);
    std::vector<hsize_t> place(data.shape.size(), 0);
    const hsize_t first_of_all = static_cast<hsize_t>(first) / data.chunk[0] * data.chunk[0];
    place[0] = first_of_all;
    for (bool more = true; more;) {
        hsize_t stored = 0;
        unsigned skipped = 0;
        haddr_t address = HADDR_UNDEF;
        if (H5Dget_chunk_info_by_coord(data.dataset, place.data(), &skipped, &address, &stored) <
                0 ||
            address == HADDR_UNDEF || stored == 0) {
            bad_file(
                data.name,
                fmt::format("the chunk from row {} was not written: the data set is not complete",
                            place[0]));
        }
        if (stored > static_cast<hsize_t>(data.file.size())) {
            bad_file(data.name, fmt::format("the chunk from row {} ends beyond the end of the file",
                                            place[0]));
        }
        const std::int64_t size = decoded_size(data, place, static_cast<std::int64_t>(stored));
        if (size != data.chunk_bytes) {
            bad_file(
                data.name,
                fmt::format("the chunk from row {} holds {}; expected {} bytes", place[0],
                            size < 0 ? "what cannot be decoded" : fmt::format("{} bytes", size),
                            data.chunk_bytes));
        }
        // The next place, the last dimension first.
        more = false;
        for (std::size_t i = place.size(); i-- > 0 && !more;) {
            place[i] += data.chunk[i];
            more = place[i] < end[i];
            if (!more) place[i] = i == 0 ? first_of_all : 0;
        }
    }
}

}  // namespace kith::io
