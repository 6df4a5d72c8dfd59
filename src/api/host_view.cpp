// Copies of device matrices on the host.
#include "api/host_view.h"

#include "gpu/backend.h"

namespace kith::api {

MatrixView on_host(const MatrixView& view, std::vector<std::byte>& storage) {
    if (view.device == host_memory) return view;
    if (view.rows == 0) {
        MatrixView none = view;
        none.device = host_memory;
        return none;
    }
    const std::size_t bytes = size_of(view.type);
    const bool row_major = view.layout == Layout::row_major;
    const std::int64_t inner = row_major ? view.cols : view.rows,
                       outer = row_major ? view.rows : view.cols;
    storage.resize(static_cast<std::size_t>(((outer - 1) * view.stride + inner)) * bytes);
    gpu::copy(storage.data(), view.data, storage.size());
    MatrixView copy = view;
    copy.data = storage.data();
    copy.device = host_memory;
    return copy;
}

}  // namespace kith::api
