// The file formats of an installed kith: a matrix written, read and searched; and the errors of both libraries caught.
#include <kith/io.h>
#include <kith/kith.h>

#include <cstdio>

namespace {

template <class Call>
bool throws(kith::ErrorCode code, Call call) {
    try {
        call();
    } catch (const kith::Error& error) {
        return error.code() == code;
    }
    return false;
}

}  // namespace

int main(int, char** argv) {
    const std::string file = std::string(argv[0]) + ".fvecs";
    try {
        const float points[] = {0, 0, 3, 4, 1, 1}, query[] = {0.9f, 1};
        kith::MatrixWriter writer(file, {"", 3, 2, kith::ElementType::f32});
        writer.append(points, 3);
        writer.commit();
        const kith::Matrix matrix = kith::read_matrix(file);
        const auto found = kith::search(matrix.view(), kith::view(query, 1, 2), 1);
        std::printf("of %s: %d\n", file.c_str(), static_cast<int>(found.ids[0]));
        const bool caught =
            throws(kith::ErrorCode::bad_file, [&] { kith::read_matrix(file + ".none.fvecs"); }) &&
            throws(kith::ErrorCode::invalid_argument, [&] { kith::search(matrix.view(), kith::view(query, 1, 2), 0); });
        return found.ids[0] == 2 && caught ? 0 : 1;
    } catch (const kith::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
