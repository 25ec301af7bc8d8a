"""Studies of single claims of the paper: points, what is measured at each, a figure, a verdict."""
