"""Composite operators of PyTorch that do not look at elements.

They pass while their operands are pending, and their parts are deferred. Other
composites may look at elements, as tensor_split does, so pending operations run
first. tests/python/pytorch/test_torch_composites.py checks this list: it calls each
operator with all operands pending, and compares.
"""

from __future__ import annotations

# All overloads of these names pass, also those in place.
_WHOLE = """
    __and__ __iand__ __ior__ __ixor__ __or__ __xor__ _batch_norm_impl_index
    _convolution_mode _fused_rms_norm _lu_with_info _nnpack_available
    _pad_circular _scaled_dot_product_attention_math
    _sparse_compressed_tensor_unsafe _upsample_bilinear2d_aa
    _upsample_nearest_exact1d _upsample_nearest_exact2d
    _upsample_nearest_exact3d _weight_norm absolute adaptive_avg_pool1d
    adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adjoint
    alpha_dropout arccos arccosh arcsin arcsinh arctan arctan2 arctanh argwhere
    atleast_1d atleast_2d atleast_3d avg_pool1d batch_norm bilinear
    broadcast_tensors broadcast_to can_cast cartesian_prod cdist chain_matmul
    chalf chunk column_stack combinations concat concatenate conj conj_physical
    contiguous conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d corrcoef cosine_embedding_loss cosine_similarity cov cross
    cross_entropy_loss cudnn_is_acceptable cummaxmin_backward cumprod_backward
    cumulative_trapezoid det diag diagflat diff dim dropout dsplit dstack einsum
    embedding_backward empty expand_as
    fake_quantize_per_channel_affine_cachemask_backward
    fake_quantize_per_tensor_affine_cachemask_backward feature_alpha_dropout
    feature_dropout fft_fft fft_fft2 fft_fftn fft_fftshift fft_hfft fft_hfft2
    fft_hfftn fft_ifft fft_ifft2 fft_ifftn fft_ifftshift fft_ihfft fft_ihfft2
    fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftn
    fill_diagonal fix flatten flatten_dense_tensors fliplr flipud frobenius_norm
    gather_backward ger get_device greater greater_equal grid_sampler group_norm
    gru_cell hinge_embedding_loss histogramdd hsplit hstack
    index_select_backward infinitely_differentiable_gelu_backward inner
    instance_norm inverse is_complex is_conj is_contiguous is_distributed
    is_floating_point is_inference is_leaf is_neg is_nonzero is_signed
    is_vulkan_available isclose isfinite isreal item kl_div kron l1_loss
    layer_norm less less_equal linalg_cholesky linalg_det linalg_diagonal
    linalg_eigh linalg_eigvals linalg_eigvalsh linalg_inv linalg_matmul
    linalg_matrix_norm linalg_matrix_power linalg_matrix_rank linalg_multi_dot
    linalg_norm linalg_pinv linalg_slogdet linalg_solve linalg_solve_ex
    linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve linalg_vander
    linalg_vecdot linear log_sigmoid log_softmax logdet lstm_cell lu_solve mH mT
    margin_ranking_loss masked_select_backward matmul matrix_H matrix_exp
    matrix_exp_backward matrix_power max max_pool1d max_pool1d_with_indices
    max_pool2d max_pool3d meshgrid min moveaxis movedim msort multiply nanmean
    nanquantile negative nll_loss_nd nonzero_numpy norm_except_dim not_equal
    numel numpy_T one_hot outer pad pad_sequence pairwise_distance pdist
    pinverse poisson_nll_loss positive prelu promote_types qr quantile ravel
    real relu6 repeat_interleave reshape reshape_as resolve_conj resolve_neg
    result_type retains_grad rms_norm rnn_relu_cell rnn_tanh_cell row_stack
    rrelu scaled_dot_product_attention selu size slogdet softmax special_digamma
    special_erf special_erfc special_erfinv special_exp2 special_expit
    special_expm1 special_gammainc special_gammaincc special_gammaln special_i0
    special_log1p special_log_softmax special_logit special_logsumexp
    special_multigammaln special_ndtr special_polygamma special_psi
    special_round special_sinc special_softmax special_xlogy square std std_mean
    storage_offset stride subtract sum_to_size svd swapaxes swapdims
    sym_is_contiguous sym_numel sym_size sym_storage_offset sym_stride
    take_along_dim tensordot tile to to_dense to_dense_backward
    to_mkldnn_backward to_sparse to_sparse_csc to_sparse_csr trace_backward
    trapezoid trapz triplet_margin_loss true_divide type_as unflatten
    unsafe_chunk upsample_bicubic2d upsample_bilinear2d upsample_linear1d
    upsample_nearest1d upsample_nearest2d upsample_nearest3d
    upsample_trilinear3d value_selecting_reduction_backward vander var var_mean
    view_as vsplit vstack where
"""
# Only the given overloads of these names pass.
_SOME = """
    _sparse_mm.reduce argsort argsort.stable clip clip.Tensor clip.out clip_
    clip_.Tensor ctc_loss.IntList divide.Scalar divide.Tensor divide.Tensor_mode
    divide.out divide_.Scalar divide_.Tensor divide_.Tensor_mode
    embedding_bag.padding_idx fake_quantize_per_tensor_affine float_power.Scalar
    float_power.Tensor_Scalar float_power.Tensor_Tensor
    float_power.Tensor_Tensor_out float_power_.Tensor gradient.scalarint
    gradient.scalarrayarray gradient.tensorarray gru.input linalg_cond
    linalg_cond.out linalg_ldl_factor linalg_lu_factor lstm.input
    multilabel_margin_loss narrow nll_loss nll_loss2d nuclear_norm
    nuclear_norm.out orgqr randn.out rnn_relu.input rnn_tanh.input slow_conv3d
    sparse_bsc_tensor.ccol_row_value_size sparse_bsr_tensor.crow_col_value_size
    sparse_coo_tensor.indices_size sparse_csc_tensor.ccol_row_value_size
    sparse_csr_tensor.crow_col_value_size stft tensor_split.indices
    tensor_split.sections thnn_conv2d
"""

BASES = frozenset(_WHOLE.split())
OVERLOADS = frozenset(_SOME.split())


def base_of(name: str) -> str:
    """Return `add` for `add_.Tensor`."""
    base = name.partition(".")[0]
    return base if base.startswith("__") else base.rstrip("_")


def passes(name: str) -> bool:
    """Return whether a composite operator may see pending operands."""
    # PyTorch before 2.13 has overloads for names of dimensions, never compared.
    if "name" in name.partition(".")[2].lower():
        return False
    return base_of(name) in BASES or name in OVERLOADS
