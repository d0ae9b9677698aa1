"""Kinds of packages. Each module has a function `make(release)`, which returns the paths of what it wrote."""
