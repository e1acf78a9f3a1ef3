"""The version of the package, kept equal to that of CMakeLists.txt (a test compares them)."""

__version__ = "0.1.0"
