// Members of a sparse matrix' .npz.
#include "io/csr_members.h"

namespace kith::io {

namespace {

// The header of an npy member, padded as NumPy pads it.
std::string member_header(const std::string& descr, const std::string& shape) {
    constexpr std::size_t preamble = 10, alignment = 64;
    std::string text =
        "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    text.append(alignment - 1 - (preamble + text.size()) % alignment, ' ');
    text += '\n';
    std::string header("\x93NUMPY\x01\x00", 8);
    header += static_cast<char>(text.size() & 0xff);
    header += static_cast<char>(text.size() >> 8);
    return header + text;
}

}  // namespace

void add_array(ZipWriter& zip, const std::string& name, const std::string& descr,
               const std::string& shape, std::int64_t bytes,
               const std::function<void(const Put&)>& produce) {
    const std::string header = member_header(descr, shape);
    const auto header_bytes = static_cast<std::int64_t>(header.size());
    zip.add(name + ".npy", header_bytes + bytes, [&](const Put& put) {
        put(header.data(), header_bytes);
        produce(put);
    });
}

void add_csr_shape(ZipWriter& zip, std::int64_t rows, std::int64_t cols) {
    add_array(zip, "format", "|S3", "", 3, [](const Put& put) { put("csr", 3); });
    add_array(zip, "shape", "<i8", "2,", 2 * sizeof(std::int64_t), [&](const Put& put) {
        const std::int64_t shape[] = {rows, cols};
        put(shape, sizeof shape);
    });
}

}  // namespace kith::io
