"""What comes in: bad and late rows leave, the others wait until their turn has come.

A row is judged by its own values and by how far its stream has come, never by a clock. To add a
reason for setting rows aside, add a :class:`admit.Check`.
"""
