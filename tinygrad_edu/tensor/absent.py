"""Names that PyTorch's tensors have and these do not: an AttributeError for them says what to use.

A ``__getattr__`` in the class would answer too, and make every look at an attribute slower: operations by 13 %.
"""

from __future__ import annotations

from typing import Any

from ..common.missing import MissingName

NAMES = """
H absolute absolute_ addbmm addbmm_ addmv addmv_ addr addr_ adjoint angle apply_ arccosh arccosh_ arcsinh arcsinh_
arctanh arctanh_ as_strided_ as_strided_scatter as_subclass bitwise_left_shift bitwise_left_shift_
bitwise_right_shift bitwise_right_shift_ cauchy_ ccol_indices cdouble cfloat chalf cholesky cholesky_inverse
coalesce col_indices conj conj_physical conj_physical_ const_data_ptr copysign copysign_ corrcoef cov
crow_indices deg2rad deg2rad_ dense_dim dequantize diagflat diagonal_scatter dim_order dist divide divide_ dsplit
eig erfinv erfinv_ fill_diagonal_ fix fix_ float_power float_power_ fmax fmin frac frac_ frexp gcd gcd_ geometric_
geqrf ger get_device grad_dtype greater greater_ greater_equal greater_equal_ hardshrink hash_tensor heaviside
heaviside_ histc histogram hsplit i0 i0_ igamma igamma_ igammac igammac_ imag index index_reduce index_reduce_
indices int_repr ipu is_coalesced is_complex is_conj is_cpu is_distributed is_inference is_ipu is_maia is_meta
is_mkldnn is_mps is_mtia is_neg is_nested is_nonzero is_quantized is_same_size is_set_to is_shared
is_signed is_sparse is_sparse_csr is_vulkan is_xla is_xpu isneginf isposinf isreal istft itemsize layout
lcm lcm_ ldexp ldexp_ less less_ less_equal less_equal_ log_normal_ logcumsumexp logdet lstsq lu lu_solve mH map2_
map_ masked_scatter masked_scatter_ matrix_exp matrix_power mode module_load msort mtia multiply multiply_ mvlgamma
mvlgamma_ nanmedian nanquantile narrow_copy negative negative_ new new_empty_strided nextafter nextafter_
nonzero_static not_equal not_equal_ orgqr ormqr output_nr pinverse polygamma polygamma_ prelu put put_
q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qr qscheme rad2deg rad2deg_
real reinforce renorm renorm_ resize resize_ resize_as resize_as_ resize_as_sparse_ resolve_conj
resolve_neg retains_grad row_indices scatter_reduce scatter_reduce_ select_scatter set_ sgn sgn_ share_memory_
signbit sinc sinc_ slice_inverse slice_scatter slogdet smm solve sparse_dim sparse_mask sparse_resize_
sparse_resize_and_clear_ sspaddmm stft storage_type subtract subtract_ sum_to_size swapaxes_ swapdims swapdims_
symeig take to_dense to_mkldnn to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc
to_sparse_csr triangular_solve true_divide true_divide_ unique_consecutive unsafe_chunk unsafe_split
unsafe_split_with_sizes untyped_storage values vdot volatile vsplit xpu
"""


class _Absent:
    """A placeholder in the class for a method. `hasattr` says no."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        raise MissingName("Tensor", self._name)


class Absent:
    """The last base of `Tensor`. It keeps these names out of `dir` and Tab completion."""

    __slots__ = ()
    locals().update({name: _Absent(name) for name in NAMES.split()})  # setting them afterwards is slower

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if not isinstance(vars(Absent).get(name), _Absent)]
