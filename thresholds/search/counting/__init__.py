"""How is the optimum found without sorting? Count at a few cuts, bound, refine what is left."""
