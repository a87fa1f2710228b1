"""What is compared, as numbers: 64-bit codes of keys, small numbers for the items of sets."""
