"""Text for terminals and pipes: one module for each thing shown."""
