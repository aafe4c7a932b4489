"""Numbers that are compared but for rounding: to a millionth of their size, or to twelve
decimals.
"""

from functools import partial

import pytest

approx = pytest.approx
near = partial(pytest.approx, abs=1e-12)
