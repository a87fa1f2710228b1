"""The join under a memory budget: a bounded store, and a policy that says what it forgets.

Policies are in ``bankfull.policies``; nothing here knows one by name.
"""
