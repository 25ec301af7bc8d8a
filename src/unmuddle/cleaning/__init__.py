"""Tables and labels as users have them: encoded for a model, repaired cell by cell, with a record of what changed."""

from unmuddle.cleaning.audit import Cleaned, make_audit
from unmuddle.cleaning.encoding import Encoding
from unmuddle.cleaning.labels import Labels
from unmuddle.cleaning.tables import repair, table_of

__all__ = ["Cleaned", "Encoding", "Labels", "make_audit", "repair", "table_of"]
