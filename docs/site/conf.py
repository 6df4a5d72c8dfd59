"""Sphinx' settings for the site that scripts/docs builds; the folder of the sources is the one that stage.py has filled."""
import os
import pathlib

import kith
import kith.sklearn  # before torch's stand-in, which scikit-learn would take for torch

root = pathlib.Path(os.environ["KITH_ROOT"])
xml = os.environ["KITH_DOXYGEN_XML"]

project = "kith"
copyright = "the authors of kith, Apache-2.0"  # noqa: A001
version = release = kith.__version__
extensions = ["breathe", "myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode",
              "sphinx_copybutton", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["gallery/*.py", "gallery/*.ipynb", "**.py", "**.ipynb", "**/sg_execution_times.rst", "sg_execution_times.rst"]
templates_path = ["_templates"]
nitpicky = False  # types of other libraries and of headers that Doxygen does not read

# Pages
highlight_language = "none"  # of blocks that name no language
myst_heading_anchors = 4  # the anchors that links between the pages name
myst_enable_extensions = ["deflist", "html_image"]
# A struct of C and its typedef have one name, and every header opens the namespace kith.
suppress_warnings = ["config.cache", "duplicate_declaration.c", "duplicate_declaration.cpp"]

# Python
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_mock_imports = ["dask", "openTSNE", "ray", "torch"]
autodoc_typehints = "none"  # the docstrings say types, shapes and units
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# C++ and C
breathe_projects = {"kith": xml}
breathe_default_project = "kith"
breathe_domain_by_file_pattern = {"*/c.h": "c"}
breathe_show_include = False
breathe_order_parameters_first = False
cpp_id_attributes = ["KITH_EXPORT"]
c_id_attributes = ["KITH_EXPORT"]

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": str(root / "examples" / "python"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/[^/]*\.py$",  # all are run
    "ignore_pattern": "__init__",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "matplotlib_animations": False,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 0,
    "backreferences_dir": None,
    "plot_gallery": True,
    "reset_modules": ("matplotlib",),
    "image_srcset": ["2x"],
}


def skip(app, kind, name, thing, skipped, options):
    """scikit-learn's methods for the routing of metadata, whose texts lead into its own pages."""
    return True if name == "get_metadata_routing" or name.startswith("set_") and name.endswith("_request") else None


def level(app, error):
    """Captions of the navigation are headings of a level, which screen readers ask for."""
    for path in pathlib.Path(app.outdir).rglob("*.html"):
        text = path.read_text()
        told = text.replace('class="caption" role="heading">', 'class="caption" role="heading" aria-level="2">')
        if told != text:
            path.write_text(told)


def setup(app):
    app.connect("autodoc-skip-member", skip)
    app.connect("build-finished", level)


html_theme = "furo"
html_title = f"kith {release}"
html_static_path = [str(root / "docs" / "site" / "static")]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
