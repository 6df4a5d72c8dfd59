"""The tests as a package, as test_search.py imports .utils, which the source distribution leaves out."""
