// The file formats of an installed kith: a matrix written, read and searched.
#include <kith/io.h>
#include <kith/kith.h>

#include <cstdio>

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
        return found.ids[0] == 2 ? 0 : 1;
    } catch (const kith::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
