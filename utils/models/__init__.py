"""Test models: nets built from a fixed seed and exported to ONNX, and the models that come inside PyPI packages."""
