"""pylibraft, of which cuVS' tests use device_ndarray."""
