// CUB's algorithms of a whole device, without its marks for profilers, which are made when a
// library is loaded and destroyed at exit.
#pragma once

#define CCCL_DISABLE_NVTX

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>
