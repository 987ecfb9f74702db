"""Composite operators of PyTorch that do not look at elements.

They pass while their operands are pending, and their parts are deferred. Other
composites may look at elements, as tensor_split does, so pending operations run
first. tests/python/test_torch_composites.py checks this list: it calls each
operator with all operands pending, and compares.
"""

from __future__ import annotations

_NAMES = """
    __and__.Scalar __and__.Tensor __iand__.Scalar __iand__.Tensor
    __ior__.Scalar __ior__.Tensor __ixor__.Scalar __ixor__.Tensor
    __or__.Scalar __or__.Tensor __xor__.Scalar __xor__.Tensor
    _batch_norm_impl_index _convolution_mode _fused_rms_norm _lu_with_info
    _nnpack_available _pad_circular _scaled_dot_product_attention_math
    _sparse_compressed_tensor_unsafe _sparse_mm.reduce
    _upsample_bilinear2d_aa.vec _upsample_nearest_exact1d.vec
    _upsample_nearest_exact2d.vec _upsample_nearest_exact3d.vec _weight_norm
    absolute absolute.out absolute_ adaptive_avg_pool1d adaptive_avg_pool2d
    adaptive_avg_pool3d adaptive_max_pool1d adjoint alpha_dropout
    alpha_dropout_ arccos arccos.out arccos_ arccosh arccosh.out arccosh_
    arcsin arcsin.out arcsin_ arcsinh arcsinh.out arcsinh_ arctan arctan.out
    arctan2 arctan2.out arctan2_ arctan_ arctanh arctanh.out arctanh_
    argsort argsort.stable argwhere atleast_1d atleast_1d.Sequence
    atleast_2d atleast_2d.Sequence atleast_3d atleast_3d.Sequence avg_pool1d
    batch_norm bilinear broadcast_tensors broadcast_to can_cast
    cartesian_prod cdist chain_matmul chain_matmul.out chalf chunk clip
    clip.Tensor clip.out clip_ clip_.Tensor column_stack column_stack.out
    combinations concat concat.out concatenate concatenate.out conj
    conj_physical contiguous conv1d conv1d.padding conv2d conv2d.padding
    conv3d conv3d.padding conv_transpose1d conv_transpose2d.input
    conv_transpose3d.input corrcoef cosine_embedding_loss cosine_similarity
    cov cross cross.out cross_entropy_loss ctc_loss.IntList
    cudnn_is_acceptable cummaxmin_backward cumprod_backward
    cumulative_trapezoid.dx cumulative_trapezoid.x det diag diag.out
    diagflat diff diff.out dim divide.Scalar divide.Tensor
    divide.Tensor_mode divide.out divide_.Scalar divide_.Tensor
    divide_.Tensor_mode dropout dropout_ dsplit.array dsplit.int dstack
    dstack.out einsum embedding_backward embedding_bag.padding_idx empty.out
    expand_as fake_quantize_per_channel_affine_cachemask_backward
    fake_quantize_per_tensor_affine
    fake_quantize_per_tensor_affine_cachemask_backward feature_alpha_dropout
    feature_alpha_dropout_ feature_dropout feature_dropout_ fft_fft
    fft_fft.out fft_fft2 fft_fft2.out fft_fftn fft_fftn.out fft_fftshift
    fft_hfft fft_hfft.out fft_hfft2 fft_hfft2.out fft_hfftn fft_hfftn.out
    fft_ifft fft_ifft.out fft_ifft2 fft_ifft2.out fft_ifftn fft_ifftn.out
    fft_ifftshift fft_ihfft fft_ihfft.out fft_ihfft2 fft_ihfft2.out
    fft_ihfftn fft_ihfftn.out fft_irfft fft_irfft.out fft_irfft2
    fft_irfft2.out fft_irfftn fft_irfftn.out fft_rfft fft_rfft.out fft_rfft2
    fft_rfft2.out fft_rfftn fft_rfftn.out fill_diagonal_ fix fix.out fix_
    flatten.using_ints flatten_dense_tensors fliplr flipud
    float_power.Scalar float_power.Tensor_Scalar float_power.Tensor_Tensor
    float_power.Tensor_Tensor_out float_power_.Tensor frobenius_norm.dim
    frobenius_norm.out gather_backward ger ger.out get_device
    gradient.scalarint gradient.scalarrayarray gradient.tensorarray
    greater.Scalar greater.Scalar_out greater.Tensor greater.Tensor_out
    greater_.Scalar greater_.Tensor greater_equal.Scalar
    greater_equal.Scalar_out greater_equal.Tensor greater_equal.Tensor_out
    greater_equal_.Scalar greater_equal_.Tensor grid_sampler group_norm
    gru.input gru_cell hinge_embedding_loss histogramdd
    histogramdd.TensorList_bins histogramdd.int_bins hsplit.array hsplit.int
    hstack hstack.out index_select_backward
    infinitely_differentiable_gelu_backward inner inner.out instance_norm
    inverse inverse.out is_complex is_conj is_contiguous
    is_contiguous.memory_format is_distributed is_floating_point
    is_inference is_leaf is_neg is_nonzero is_signed is_vulkan_available
    isclose isfinite isreal item kl_div kron kron.out l1_loss layer_norm
    less.Scalar less.Scalar_out less.Tensor less.Tensor_out less_.Scalar
    less_.Tensor less_equal.Scalar less_equal.Scalar_out less_equal.Tensor
    less_equal.Tensor_out less_equal_.Scalar less_equal_.Tensor
    linalg_cholesky linalg_cholesky.out linalg_cond linalg_cond.out
    linalg_det linalg_det.out linalg_diagonal linalg_eigh
    linalg_eigh.eigvals linalg_eigvals linalg_eigvalsh linalg_eigvalsh.out
    linalg_inv linalg_inv.out linalg_ldl_factor linalg_lu_factor
    linalg_matmul linalg_matmul.out linalg_matrix_norm
    linalg_matrix_norm.out linalg_matrix_norm.str_ord
    linalg_matrix_norm.str_ord_out linalg_matrix_power
    linalg_matrix_power.out linalg_matrix_rank
    linalg_matrix_rank.atol_rtol_float
    linalg_matrix_rank.atol_rtol_float_out
    linalg_matrix_rank.atol_rtol_tensor
    linalg_matrix_rank.atol_rtol_tensor_out linalg_matrix_rank.out
    linalg_matrix_rank.out_tol_tensor linalg_matrix_rank.tol_tensor
    linalg_multi_dot linalg_multi_dot.out linalg_norm linalg_norm.ord_str
    linalg_norm.ord_str_out linalg_norm.out linalg_pinv
    linalg_pinv.atol_rtol_float linalg_pinv.atol_rtol_float_out
    linalg_pinv.out linalg_pinv.out_rcond_tensor linalg_pinv.rcond_tensor
    linalg_slogdet linalg_slogdet.out linalg_solve linalg_solve.out
    linalg_solve_ex linalg_solve_ex.out linalg_svd linalg_svd.U
    linalg_svdvals linalg_svdvals.out linalg_tensorinv linalg_tensorinv.out
    linalg_tensorsolve linalg_tensorsolve.out linalg_vander linalg_vecdot
    linalg_vecdot.out linear log_sigmoid log_sigmoid.out log_softmax.int
    logdet lstm.input lstm_cell lu_solve lu_solve.out mH mT
    margin_ranking_loss masked_select_backward matmul matmul.out matrix_H
    matrix_exp matrix_exp_backward matrix_power matrix_power.out max.other
    max.out max_pool1d max_pool1d_with_indices max_pool2d max_pool3d
    meshgrid meshgrid.indexing min.other min.out moveaxis.int
    moveaxis.intlist movedim.int movedim.intlist msort msort.out
    multilabel_margin_loss multiply.Scalar multiply.Tensor multiply.out
    multiply_.Scalar multiply_.Tensor nanmean nanmean.out nanquantile
    nanquantile.out nanquantile.scalar nanquantile.scalar_out narrow
    negative negative.out negative_ nll_loss nll_loss2d nll_loss_nd
    nonzero_numpy norm_except_dim not_equal.Scalar not_equal.Scalar_out
    not_equal.Tensor not_equal.Tensor_out not_equal_.Scalar
    not_equal_.Tensor nuclear_norm nuclear_norm.out numel numpy_T one_hot
    orgqr outer outer.out pad pad_sequence pairwise_distance pdist pinverse
    poisson_nll_loss positive prelu promote_types qr qr.Q quantile
    quantile.out quantile.scalar quantile.scalar_out randn.out ravel real
    relu6 relu6_ repeat_interleave.self_Tensor repeat_interleave.self_int
    reshape reshape_as resolve_conj resolve_neg result_type.Scalar
    result_type.Scalar_Scalar result_type.Scalar_Tensor result_type.Tensor
    retains_grad rms_norm rnn_relu.input rnn_relu_cell rnn_tanh.input
    rnn_tanh_cell row_stack row_stack.out rrelu rrelu_
    scaled_dot_product_attention selu selu_ size.int slogdet slogdet.out
    slow_conv3d softmax.int sparse_bsc_tensor.ccol_row_value_size
    sparse_bsr_tensor.crow_col_value_size
    sparse_coo_tensor.indices_size sparse_csc_tensor.ccol_row_value_size
    sparse_csr_tensor.crow_col_value_size special_digamma
    special_digamma.out special_erf special_erf.out special_erfc
    special_erfc.out special_erfinv special_erfinv.out special_exp2
    special_exp2.out special_expit special_expit.out special_expm1
    special_expm1.out special_gammainc special_gammainc.out
    special_gammaincc special_gammaincc.out special_gammaln
    special_gammaln.out special_i0 special_i0.out special_log1p
    special_log1p.out special_log_softmax special_logit special_logit.out
    special_logsumexp special_logsumexp.out special_multigammaln
    special_multigammaln.out special_ndtr special_ndtr.out special_polygamma
    special_polygamma.out special_psi special_psi.out special_round
    special_round.out special_sinc special_sinc.out special_softmax
    special_xlogy special_xlogy.other_scalar special_xlogy.other_scalar_out
    special_xlogy.out special_xlogy.self_scalar
    special_xlogy.self_scalar_out square square.out square_ std std.dim
    std.out std_mean std_mean.dim stft storage_offset stride.int
    subtract.Scalar subtract.Tensor subtract.out subtract_.Scalar
    subtract_.Tensor sum_to_size svd svd.U swapaxes swapaxes_ swapdims
    swapdims_ sym_is_contiguous sym_numel sym_size.int sym_storage_offset
    sym_stride.int take_along_dim take_along_dim.out tensor_split.indices
    tensor_split.sections tensordot tensordot.out thnn_conv2d tile to.device
    to.dtype to.dtype_layout to.other to_dense to_dense_backward
    to_mkldnn_backward to_sparse to_sparse.sparse_dim to_sparse_csc
    to_sparse_csr trace_backward trapezoid.dx trapezoid.x trapz.dx trapz.x
    triplet_margin_loss true_divide.Scalar true_divide.Tensor
    true_divide.out true_divide_.Scalar true_divide_.Tensor type_as
    unflatten.int unsafe_chunk upsample_bicubic2d.vec
    upsample_bilinear2d.vec upsample_linear1d.vec upsample_nearest1d.vec
    upsample_nearest2d.vec upsample_nearest3d.vec upsample_trilinear3d.vec
    value_selecting_reduction_backward vander var var.dim var.out var_mean
    var_mean.dim view_as vsplit.array vsplit.int vstack vstack.out where
    where.Scalar where.ScalarOther where.ScalarSelf
"""

COMPOSITE = tuple(_NAMES.split())
