"""What the pages of the tables say of how their numbers were made."""

from __future__ import annotations

MEANING = {
    "uniform": "a share (the rate) of the training rows, exactly, is picked and its labels drawn anew over all classes",
    "flip": "a share (the rate) of the training rows, exactly, is picked and each label moved to another class",
}

_LINEAR = (
    "Linear models choose among nine strengths by five-fold accuracy on noisy labels, the forest among five leaf sizes "
    "by noisy out-of-bag accuracy. FLR as printed chooses among nine settings of its three lambdas by accuracy on "
    "noisy labels of one half after fitting the other; "
)
_NETWORKS = (
    "Networks have one hidden layer and settings fixed beforehand; each keeps the epoch that did best on the noisy "
    "labels of 15 % of the training rows, which it does not train on. Co-teaching, JoCoR and MentorNet estimate the "
    "noise rate. RPCA before logistic regression chooses among nine settings as FLR does, and projects the clean test "
    "rows onto its row space; before cleanlab it has its own weight, and new rows are replaced by their closest point "
    "in absolute values. Both are inductive."
)

TABLE_1 = (
    "80 % of the rows are drawn to train on and spoiled, the rest is the clean test. Columns are standardised by the "
    "clean training rows before noise is added (CNAE-9: divided by the standard deviation, not centred), the same for "
    "all methods; none scales again.",
    _LINEAR + "on CNAE-9, where a fit takes most of a minute, in the first "
    "trial only, for all trials. The row in hindsight has the best test accuracy of all nine (not run on CNAE-9).",
    _NETWORKS,
    "Cells are clipped at 3.5 robust deviations of their column, which on CNAE-9 are those of the added noise.",
    "How the paper's authors split, scaled and tuned is not known.",
)

FEATURES = (
    "The paper's 512 features of ResNet-18 are not to be had. In their place 1280 columns of EfficientNet-Lite0, "
    "trained on ImageNet only, are standardised by the training rows, projected on the first 512 principal axes of the "
    "training rows (of fewer rows, one less than there are) before any noise, and divided by one number, so that the "
    "mean variance of the columns is 1. Single columns are not scaled again, by the runner or any method (scale=None), "
    "for that would leave nothing of low rank. Noise of standard deviation sigma is added to these."
)

_IMAGES = (
    FEATURES,
    _LINEAR + "so does RPCA before logistic regression; both choose in the first trial, for all trials.",
    _NETWORKS,
    "Cells are clipped at 3.5 robust deviations of their column.",
)

PEOPLE = (
    "The labels are those that people gave (real), the same in every trial; 10,000 rows to train on and 2,000 clean "
    "ones to test on are given too. So trials differ in noise on features and in the seeds of methods, and standard "
    "errors are over these alone, not over other images.",
    *_IMAGES,
)

CIFAR10 = (
    "6,000 of the 12,000 images are drawn once; in each trial 80 % of them are drawn to train on and spoiled, the rest "
    "is the clean test. The paper shows curves without figures, and does not state its levels of noise on features: "
    "these are ours.",
    *_IMAGES,
)

QUICK = "A quick look, not the table: 600 rows of both parts together, and few methods and columns."

STAND_IN = (
    "These numbers are NOT of CIFAR-10: its features are not at hand, and generated features of the same shape (class "
    "means and variation of low rank in 1280 columns; labels wrong near the borders of classes, as often as people's) "
    "stand in for them."
)
