"""faiss.contrib: `torch_utils` alone. The rest of faiss' are scripts on faiss' interface."""
