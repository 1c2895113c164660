"""What kernel and plugins say to each other: frames, methods, shared memory. Knows neither side."""
