"""Embeddings and a classifier of your own: let its probabilities judge the labels.

Run it as `python examples/embeddings_with_your_model.py`. Digits stand in for images; PCA stands in for the network
that made the embeddings. What matters is that `pred_probs` come from a model that did not see the row.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from unmuddle import HybridCleaner

images, truth = load_digits(return_X_y=True)
images, truth = images[:900], truth[:900]
embeddings = PCA(32, random_state=0).fit_transform(images)

rng = np.random.default_rng(0)
y = truth.copy()
wrong = rng.permutation(len(y))[:90]
y[wrong] = (y[wrong] + rng.integers(1, 10, size=90)) % 10

model = KNeighborsClassifier(12)
pred_probs = cross_val_predict(model, embeddings, y, cv=5, method="predict_proba")

cleaner = HybridCleaner(recovery="none", scale=None, random_state=0)  # embeddings have common units
cleaned = cleaner.fit_clean(embeddings, y, pred_probs=pred_probs)

flagged = cleaner.label_issues_.query("flag")
found = np.isin(flagged["row"], wrong).sum()
print(f"{len(wrong)} labels were wrong; {len(flagged)} are flagged, {found} of them rightly")
print(f"right labels: {np.mean(y == truth):.1%} before, {np.mean(cleaned.y == truth):.1%} after")
print(flagged.nlargest(3, "confidence")[["row", "given", "suggested", "confidence"]].round(3).to_string(index=False))
