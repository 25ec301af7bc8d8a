"""Theorem 2 of the paper: how far the risk of a fit may be from its training risk, term by term.

With probability 1 - delta, for every f of the class,

::

    |R(f) - R^(f)|  <=  2 L R_n + B sqrt(ln(1/delta) / (2 n c))

    R_n  <=  E_l,21 C1  +  min { X_* Z_* C2,   Z_* (X~_F + sqrt(d) E_f,1) C3,   C4 }

    C1 = sqrt(3 ln c / (n c))    C2 = sqrt(ln(2 max(n, c)) / (n c))    C3 = 1 / sqrt(n c)    C4 = sqrt(2 / c)

``docs/theory.md`` says what the theorem needs and what is doubtful in it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf, sqrt
from math import log as ln
from numbers import Integral

from unmuddle.checks import is_finite
from unmuddle.errors import InvalidParameterError

TOLERANCE = 1e-3
"""What the length of recovered labels may be above its limit, relative to it: fits meet constraints to about this."""

FORMULAS = {
    "label": "E_l,21 C1",
    "nuclear": "X_* Z_* C2",
    "feature": "Z_* (X~_F + sqrt(d) E_f,1) C3",
    "constant": "C4",
    "confidence": "B sqrt(ln(1/delta) / (2 n c))",
}


@dataclass(frozen=True)
class Norms:
    """The norms that limit the theorem's class of functions, for features of n rows, d columns and c classes.

    Attributes
    ----------
    X_nuclear, Z_nuclear : float
        The paper's X_* and Z_*: nuclear norms of the recovered features and of the projection.
    given_frobenius : float
        X~_F, the Frobenius norm of the given features.
    E_f_entrywise : float
        E_f,1 as the objective has it: the sum of all absolute feature errors.
    E_l_rows : float
        E_l,21, the sum of the lengths of all rows of label errors.
    E_f_induced : float, default=None
        E_f,1 as ``sqrt(d)`` has it: the largest sum of absolute errors in a column. None leaves this reading out.
    XZ_frobenius : float, default=None
        Frobenius norm of the recovered labels. C4 needs it to be at most ``sqrt(n)``, as it is when every row is
        one-hot; None takes that for granted.
    """

    X_nuclear: float
    Z_nuclear: float
    given_frobenius: float
    E_f_entrywise: float
    E_l_rows: float
    E_f_induced: float | None = None
    XZ_frobenius: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.default is None:
                continue
            if not is_finite(value) or value < 0:
                raise InvalidParameterError(f"{field.name} must be a norm, a finite number from 0 on; got {value!r}.")


@dataclass(frozen=True)
class GeneralizationBound:
    """Theorem 2 in numbers; ``print`` shows it term by term.

    Attributes
    ----------
    n, d, c : int
        Rows, columns and classes.
    delta, lipschitz, loss_bound : float
        The chance that the statement fails; L and B, the Lipschitz constant and the largest value of the loss.
    norms : Norms
        What limits the class of functions.
    label_term : float
        ``E_l,21 C1``.
    nuclear_term, feature_term, constant_term : float
        The three of which the smallest counts. The second takes E_f,1 entrywise, as the objective does.
    induced_feature_term : float or None
        The second with the induced 1-norm, the one that ``sqrt(d)`` fits.
    confidence_term : float
        ``B sqrt(ln(1/delta) / (2 n c))``.
    """

    n: int
    d: int
    c: int
    delta: float
    lipschitz: float
    loss_bound: float
    norms: Norms
    label_term: float
    nuclear_term: float
    feature_term: float
    induced_feature_term: float | None
    constant_term: float
    confidence_term: float

    @property
    def covers_constant(self) -> bool:
        """Whether C4 holds: the recovered labels are no longer than one-hot rows would be."""
        length = self.norms.XZ_frobenius
        return length is None or length <= sqrt(self.n) * (1 + TOLERANCE)

    @property
    def candidates(self) -> dict[str, float]:
        """The terms of which the smallest counts, by name; without C4 where it does not hold."""
        terms = {"nuclear": self.nuclear_term, "feature": self.feature_term}
        return {**terms, "constant": self.constant_term} if self.covers_constant else terms

    @property
    def smallest(self) -> str:
        """The name of the term that counts."""
        return min(self.candidates, key=self.candidates.__getitem__)

    @property
    def complexity(self) -> float:
        """The limit on the Rademacher complexity R_n."""
        return self.label_term + min(self.candidates.values())

    @property
    def value(self) -> float:
        """The most by which the two risks differ, with probability ``1 - delta``."""
        return 2 * self.lipschitz * self.complexity + self.confidence_term

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: losses from 0 to B never differ by more than B."""
        return self.value >= self.loss_bound

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader must know of these numbers, a sentence for each."""
        said = []
        if self.vacuous:
            said.append(f"Vacuous: with losses from 0 to {self.loss_bound:g} no two risks differ by more than that.")
        if not self.covers_constant:
            said.append("C4 is left out: the recovered labels are longer, as a whole, than one-hot rows are.")
        if self.c == 2:
            said.append("At c = 2 the lemma behind C1 has a negative exponent q; C1 itself holds (docs/theory.md).")
        return tuple(said)

    def __str__(self) -> str:
        values = {
            "label": self.label_term,
            "nuclear": self.nuclear_term,
            "feature": self.feature_term,
            "constant": self.constant_term,
            "confidence": self.confidence_term,
        }
        lines = [
            f"  {name:<10}  {FORMULAS[name]:<29}  {value:>9.4g}{self._mark(name)}" for name, value in values.items()
        ]
        head = (
            f"Theorem 2, n = {self.n}, d = {self.d}, c = {self.c}: with probability {1 - self.delta:g} risks differ "
            f"by at most {self.value:.4g} = 2 L (label + smallest of three) + confidence, L = {self.lipschitz:g}"
        )
        return "\n".join((head, *lines, *self.remarks))

    def _mark(self, name: str) -> str:
        if name == self.smallest:
            mark = "  <- smallest of three"
        elif name == "constant" and not self.covers_constant:
            mark = "  does not hold"
        else:
            mark = ""
        if name == "feature" and self.induced_feature_term is not None:
            mark += f"  (E_f,1 entrywise; {self.induced_feature_term:.4g} if induced)"
        return mark


def bound_risk(
    n: int, d: int, c: int, norms: Norms, delta: float = 0.05, lipschitz: float = 1.0, loss_bound: float = 1.0
) -> GeneralizationBound:
    """Theorem 2 from numbers alone.

    >>> norms = Norms(X_nuclear=6, Z_nuclear=0.5, given_frobenius=4, E_f_entrywise=2, E_l_rows=3, E_f_induced=1)
    >>> print(bound_risk(100, 4, 3, norms))
    Theorem 2, n = 100, d = 4, c = 3: with probability 0.95 risks differ by at most 1.161 = \
2 L (label + smallest of three) + confidence, L = 1
      label       E_l,21 C1                         0.3144
      nuclear     X_* Z_* C2                        0.3987
      feature     Z_* (X~_F + sqrt(d) E_f,1) C3     0.2309  <- smallest of three  (E_f,1 entrywise; 0.1732 if induced)
      constant    C4                                0.8165
      confidence  B sqrt(ln(1/delta) / (2 n c))    0.07066
    Vacuous: with losses from 0 to 1 no two risks differ by more than that.
    """
    _check(n, d, c, delta, lipschitz, loss_bound)
    C1 = sqrt(3 * ln(c) / (n * c))
    C2 = sqrt(ln(2 * max(n, c)) / (n * c))
    C3 = 1 / sqrt(n * c)
    C4 = sqrt(2 / c)

    def feature_term(E_f_1: float) -> float:
        return norms.Z_nuclear * (norms.given_frobenius + sqrt(d) * E_f_1) * C3

    return GeneralizationBound(
        n, d, c, delta, lipschitz, loss_bound, norms,
        label_term=norms.E_l_rows * C1,
        nuclear_term=norms.X_nuclear * norms.Z_nuclear * C2,
        feature_term=feature_term(norms.E_f_entrywise),
        induced_feature_term=None if norms.E_f_induced is None else feature_term(norms.E_f_induced),
        constant_term=C4,
        confidence_term=loss_bound * sqrt(ln(1 / delta) / (2 * n * c)),
    )  # fmt: skip


def _check(n: int, d: int, c: int, delta: float, lipschitz: float, loss_bound: float) -> None:
    for name, count, least in (("n", n, 1), ("d", d, 1), ("c", c, 2)):
        if not isinstance(count, Integral) or isinstance(count, bool) or count < least:
            raise InvalidParameterError(f"{name} must be an integer of at least {least}; got {count!r}.")
    for name, number, most in (("delta", delta, 1.0), ("lipschitz", lipschitz, inf), ("loss_bound", loss_bound, inf)):
        if not is_finite(number) or not 0 < number <= most:
            rule = "a number above 0 and at most 1" if most == 1.0 else "a positive, finite number"
            raise InvalidParameterError(f"{name} must be {rule}; got {number!r}.")
