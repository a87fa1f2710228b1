"""What a join that sheds has missed: a sample kept aside, and an interval made of it."""
