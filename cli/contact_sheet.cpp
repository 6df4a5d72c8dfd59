// A contact sheet as a PNG: layout, drawing, writing.
#include "contact_sheet.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cmath>

#include "font.h"
#include "kith/error.h"

namespace kith::cli {
namespace {

struct Color {
    std::uint8_t red, green, blue;
};

constexpr Color background{250, 250, 250};
constexpr Color ink{45, 45, 45};
constexpr Color neutral{120, 124, 130};
constexpr Color good{46, 160, 67};
constexpr Color bad{218, 54, 51};

constexpr int zoom = 3;   // pixels of the sheet for one of an image
constexpr int frame = 4;  // around an image
constexpr int gap = 6;    // between images
constexpr int query_gap = 18;
constexpr int margin = 16;
constexpr int caption_height = glyph_height + 8;
constexpr int title_zoom = 2;
constexpr int title_height = glyph_height * title_zoom + 14;
constexpr int verdict_width = 17 * glyph_advance;

class Canvas {
public:
    Canvas(int width, int height) : width_(width), height_(height) {
        pixels_.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), background);
    }

    void fill(int x, int y, int width, int height, Color color) {
        for (int j = std::max(0, y); j < std::min(height_, y + height); ++j) {
            for (int i = std::max(0, x); i < std::min(width_, x + width); ++i) at(i, j) = color;
        }
    }

    void text(int x, int y, const std::string& words, Color color, int scale = 1) {
        for (const char character : words) {
            const Glyph& glyph = glyph_of(character);
            for (int j = 0; j < glyph_height; ++j) {
                for (int i = 0; i < glyph_width; ++i) {
                    if (glyph[static_cast<std::size_t>(j)] >> (glyph_width - 1 - i) & 1) {
                        fill(x + i * scale, y + j * scale, scale, scale, color);
                    }
                }
            }
            x += glyph_advance * scale;
        }
    }

    // Enlarged by bilinear interpolation, dark on light.
    void image(int x, int y, const std::uint8_t* grey, int side) {
        const int size = side * zoom;
        const auto sample = [&](int row, int column) -> double {
            return grey[std::clamp(row, 0, side - 1) * side + std::clamp(column, 0, side - 1)];
        };
        for (int j = 0; j < size; ++j) {
            for (int i = 0; i < size; ++i) {
                const double v = (j + 0.5) / zoom - 0.5;
                const double u = (i + 0.5) / zoom - 0.5;
                const int row = static_cast<int>(std::floor(v));
                const int column = static_cast<int>(std::floor(u));
                const double fv = v - row;
                const double fu = u - column;
                const double value = (1 - fv) * ((1 - fu) * sample(row, column) + fu * sample(row, column + 1)) +
                                     fv * ((1 - fu) * sample(row + 1, column) + fu * sample(row + 1, column + 1));
                const auto shade = static_cast<std::uint8_t>(255 - std::lround(value));
                at(x + i, y + j) = {shade, shade, shade};
            }
        }
    }

    void save(FileWriter& file) const {
        png_image image{};
        image.version = PNG_IMAGE_VERSION;
        image.width = static_cast<png_uint_32>(width_);
        image.height = static_cast<png_uint_32>(height_);
        image.format = PNG_FORMAT_RGB;
        png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
        std::vector<std::byte> bytes(size);
        if (!png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels_.data(), 0, nullptr)) {
            throw Error(ErrorCode::bad_file, fmt::format("cannot draw the contact sheet: {}", image.message));
        }
        file.write(bytes.data(), static_cast<std::int64_t>(size));
        file.finish();
    }

private:
    Color& at(int x, int y) {
        return pixels_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)];
    }

    int width_;
    int height_;
    std::vector<Color> pixels_;
};

int text_width(const std::string& words) {
    return static_cast<int>(words.size()) * glyph_advance - 1;
}

void draw_cell(Canvas& canvas, int x, int y, const SheetCell& cell, Color color, int side) {
    const int size = side * zoom;
    canvas.fill(x, y, size + 2 * frame, size + 2 * frame, color);
    canvas.image(x + frame, y + frame, cell.pixels, side);
    canvas.text(x + (size + 2 * frame - text_width(cell.caption)) / 2, y + size + 2 * frame + 4, cell.caption, color);
}

}  // namespace

void write_sheet(FileWriter& file, const std::string& title, const std::vector<SheetRow>& rows, int side) {
    const int cell = side * zoom + 2 * frame;
    const int columns = rows.empty() ? 0 : static_cast<int>(rows[0].neighbours.size());
    const int first = margin + cell + query_gap;
    const int verdict_x = first + columns * (cell + gap) + gap;
    const int top = margin + title_height + caption_height;
    const int pitch = cell + caption_height + gap;
    Canvas canvas(verdict_x + verdict_width + margin, top + static_cast<int>(rows.size()) * pitch + margin);

    canvas.text(margin, margin, title, ink, title_zoom);
    const auto heading = [&](int x, const std::string& words) {
        canvas.text(x + (cell - text_width(words)) / 2, margin + title_height, words, ink);
    };
    heading(margin, "query");
    for (int j = 0; j < columns; ++j) heading(first + j * (cell + gap), std::to_string(j + 1));

    for (std::size_t i = 0; i < rows.size(); ++i) {
        const int y = top + static_cast<int>(i) * pitch;
        draw_cell(canvas, margin, y, rows[i].query, neutral, side);
        for (int j = 0; j < columns; ++j) {
            const SheetCell& neighbour = rows[i].neighbours[static_cast<std::size_t>(j)];
            draw_cell(canvas, first + j * (cell + gap), y, neighbour, neighbour.right ? good : bad, side);
        }
        canvas.text(verdict_x, y + cell / 2 - glyph_height, rows[i].verdict, rows[i].right ? good : bad);
    }
    canvas.save(file);
}

}  // namespace kith::cli
