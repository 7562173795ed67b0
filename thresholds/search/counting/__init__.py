"""How is the optimum found without sorting? Count at a few cuts, bound, collect what is left."""
