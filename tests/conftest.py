"""What all tests share: time for slow machines."""

import os

os.environ.setdefault("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "900s")  # a slow machine is not a failure
