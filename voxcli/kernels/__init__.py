"""The arithmetic: torch on any device, Triton on CUDA.

Importing this room sets MKL_CBWR, where that makes products on a CPU exact (see `mkl`) and it is not set yet. It must
come before the first product of the process, whichever way it starts: as a command, a library, a worker or a test.
"""

from voxcli.kernels.mkl import request_strict

request_strict()
