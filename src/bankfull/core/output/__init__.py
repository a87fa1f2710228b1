"""What goes out: results become rows, a bounded piece at a time."""
