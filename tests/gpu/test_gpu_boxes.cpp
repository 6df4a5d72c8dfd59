// Points that boxes leave out for what they are, on CUDA.
#include "box_cases.h"

TEST(GpuBoxes, WideColumns) {
    box_cases::wide_columns("cuda", 70000);
}
