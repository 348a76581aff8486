"""The operations of the model: plain torch on any device, Triton kernels on CUDA.

Importing this package sets MKL_CBWR if that makes matrix products on this CPU exact (see `mkl`) and the user has not
set it. MKL reads the variable at the first product of the process, so it is set at import: this works whether the
process is a command, a worker, a test or a program that uses the library.
"""

from voxcli.kernels.mkl import request_strict

request_strict()
