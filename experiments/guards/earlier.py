"""What an earlier implementation of the guards measured on the same files, in points (F x 100).

It took 6 subsamples a direction, others than `compare_guards.py` takes. Gains are against the plain optimum with
thresholds at the score; pairs are a gain and its standard error over data sets, None where none was given.
"""

DATA_SETS = {
    "bibtex",
    "chestxray14_chexnet",
    "code_ecg",
    "corel5k",
    "delicious",
    "emotions",
    "litcovid_bc7",
    "ohsumed23",
    "ptbxl_xresnet1d101",
    "pubmed_mesh_all",
    "yeast",
}

SIZES = ("300", "1000", "all")

MACRO = {  # gain in macro F1 by size
    "shrink": ((2.42, 0.48), (1.81, 0.41), (0.64, 0.24)),
    "shrink, no probabilities": ((2.16, 0.42), (1.64, 0.37), (0.51, 0.23)),
    "shrink, label alone": ((1.88, 0.40), (1.55, 0.35), (0.43, 0.23)),
    "micromacro": ((1.70, 0.56), (0.41, 0.51), (-0.61, 0.28)),
    "plain, low": ((0.90, 0.19), (0.60, 0.23), (0.13, 0.09)),
    "plain, mid": ((0.74, 0.15), (0.34, 0.11), (0.11, 0.04)),
    "fbr": ((-0.04, 0.64), (-1.21, 0.40), (-1.63, 0.51)),
    "fixed .5": ((-11.4, None), (-13.3, None), (-12.9, None)),
}

MICRO = {  # gain in micro F1 by size
    "shrink": (8.9, 11.7, 6.4),
    "shrink, no probabilities": (9.0, 11.9, 6.6),
    "shrink, label alone": (8.2, 11.1, 5.9),
    "micromacro": (9.9, 14.6, 8.8),
    "plain, low": (0.0, 0.0, 0.0),
    "plain, mid": (0.0, 0.0, 0.0),
    "fbr": (6.4, 12.1, 7.0),
    "fixed .5": (3.9, 4.7, -0.3),
}

TESTED = {  # gain in macro F1 over all labels with positives in the test rows
    "shrink": ((3.28, 0.92), (1.93, None), (0.64, None)),
    "shrink, never": ((2.02, None), (1.74, None), (0.64, None)),
}

SUPPORT = {  # gain in F1 of labels with 1-3, 4-9, 10-29, 30-99 and at least 100 positives, all sizes together
    "shrink": ((3.08, 0.79), (2.14, 0.43), (1.17, 0.14), (0.58, 0.06), (0.19, 0.03)),
    "shrink, no probabilities": ((2.80, 0.75), (2.03, 0.49), (0.89, 0.17), (0.54, 0.07), (0.18, 0.03)),
    "shrink, label alone": ((2.53, 0.72), (1.86, 0.45), (0.85, 0.17), (0.49, 0.07), (0.17, 0.03)),
    "micromacro": ((2.12, 0.78), (1.06, 0.52), (-0.87, 0.31), (-0.93, 0.23), (-0.15, 0.09)),
    "plain, low": ((1.33, 0.48), (1.17, 0.37), (0.18, 0.05), (0.07, 0.02), (-0.01, None)),
    "fbr": ((-0.17, 0.89), (-2.52, 0.41), (-2.94, 0.30), (-0.99, 0.19), (-0.09, 0.06)),
}

PLATYPUS = {  # per cent of labels
    "plain, score": (8.7, 10.9, 7.5),
    "shrink": (6.1, 5.6, 4.6),
    "shrink, never": (4.4, 5.2, 4.6),
    "shrink, no probabilities": (4.0, 5.1, 4.2),
    "micromacro": (5.7, 4.2, 1.2),
}

OPTIMISM = {  # macro F1 on the rows of the fit minus that on the test rows
    "plain, score": (12.6, 8.6, 4.2),
    "shrink": (3.1, 1.4, 1.2),
    "fixed .5": (-0.4, -0.2, 0.0),
}
