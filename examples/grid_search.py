"""A cleaner inside scikit-learn: choose what learns from the cleaned rows by a grid search.

Run it as `python examples/grid_search.py`. The search sees noisy labels only; clean ones are used at the end, to show
what came of it.
"""

from muddled_wine import make
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unmuddle import HybridCleaner

muddled, truth = make()
names = truth.columns[1:-1]
train, test = train_test_split(truth.index, stratify=truth["cultivar"], random_state=0)

plain = make_pipeline(StandardScaler(), LogisticRegression())
search = GridSearchCV(HybridCleaner(random_state=0), {"estimator": [plain, KNeighborsClassifier(9)]}, cv=3)
search.fit(muddled.loc[train, names], muddled.loc[train, "cultivar"])
plain.fit(muddled.loc[train, names], muddled.loc[train, "cultivar"])

print(f"chosen: {type(search.best_params_['estimator']).__name__}")
print(f"held-out noisy labels met: {search.best_score_:.3f}")
for name, model in {"logistic regression as it is": plain, "the cleaner that was chosen": search}.items():
    print(
        f"accuracy on clean test data, {name}: {model.score(truth.loc[test, names], truth.loc[test, 'cultivar']):.3f}"
    )
