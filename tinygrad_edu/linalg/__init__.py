"""Linear algebra, under the names of ``torch.linalg``: equations, decompositions, norms.

NumPy does the work, on the CPU, in float32 and float64. All take batches of matrices, (…, m, n), and all have
gradients.
"""

from ..errors import LinAlgError
from .chains import matrix_power, multi_dot
from .decompositions import cholesky, eigh, qr, svd
from .determinants import det, slogdet
from .equations import inv, solve, solve_triangular
from .norms import matrix_norm, norm, vector_norm

__all__ = [
    "LinAlgError", "cholesky", "det", "eigh", "inv", "matrix_norm", "matrix_power", "multi_dot", "norm", "qr",
    "slogdet", "solve", "solve_triangular", "svd", "vector_norm",
]  # fmt: skip
