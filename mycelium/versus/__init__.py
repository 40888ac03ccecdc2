"""Systems against each other: differences with intervals, paired tests, leaderboards."""
