"""What must be fast: `make bench` prints one ratio or figure a line, all measured in one run."""
