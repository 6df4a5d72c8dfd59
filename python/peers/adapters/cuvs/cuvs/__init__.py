"""cuvs is kith.compat.cuvs, whose results are device_ndarray as cuVS' are."""
