"""Everything that unmuddle raises or warns of, in one tree.

::

    Exception
    +-- UnmuddleError                      catch this to catch all of ours
        +-- InvalidDataError (ValueError)        the data cannot be learned from
        +-- InvalidParameterError (ValueError, TypeError)   a parameter breaks its rule
    Warning
    +-- UnmuddleWarning (UserWarning)      silence this to silence all of ours
        +-- StationarityWarning            the fit is not a certified stationary point
        +-- CollapsedWarning               every row gets the same scores
        +-- MemorizedWarning               the recovered labels merely repeat the given ones
"""


class UnmuddleError(Exception):
    """The root of all exceptions raised by unmuddle."""


class InvalidDataError(UnmuddleError, ValueError):
    """The data cannot be learned from; the message says where and what to do."""


class InvalidParameterError(UnmuddleError, ValueError, TypeError):
    """A parameter breaks its rule; the message gives parameter, rule and value."""


class UnmuddleWarning(UserWarning):
    """The root of all warnings issued by unmuddle."""


class StationarityWarning(UnmuddleWarning):
    """The solver stopped at a point that its certificate does not accept."""


class CollapsedWarning(UnmuddleWarning):
    """Nothing is left of the projection or of the features: every row receives the same scores."""


class MemorizedWarning(UnmuddleWarning):
    """The recovered labels equal the given ones on nearly every row."""
