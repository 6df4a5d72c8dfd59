"""Interfaces of other libraries, answered exactly: change the import and nothing else."""
