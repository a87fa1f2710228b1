"""How much of the windows is compared when there is no time for all: budgets and plans."""
