"""What to run instead of an op that has most of a step, by its family.

Families are those of ``tables.traits.op_families``; each framework's name for the replacement is a
choice (``verdicts.sentences``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from stepscope.tables.parts.made_of import shares_of
from stepscope.tables.parts.part_traits import (
    CHANGES_LAYOUTS,
    CHANGES_LAYOUTS_OF_IMAGES,
    CHANGES_TYPES,
)
from stepscope.tables.traits.gradient_names import is_of_table
from stepscope.tables.traits.op_families import ELEMENTWISE, RANDOM, TEXT

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow

_SORTED: Final = (
    "If only the largest are used, ask for those alone ([tensorflow: tf.math.top_k | "
    "jax: jax.lax.top_k | pytorch: torch.topk] with a small k); what changes seldom, sort once, "
    "before the loop."
)
_ONE_HOT: Final = (
    "Look rows up by index ([tensorflow: tf.nn.embedding_lookup | jax: jnp.take | "
    "pytorch: torch.nn.functional.embedding]) where a one-hot matrix is multiplied, sum rows by "
    "index ([tensorflow: tf.math.segment_sum | jax: jax.ops.segment_sum | pytorch: "
    "torch.index_add]) where it is transposed, and give losses the indices."
)
_JOINED: Final = (
    "If it appends to what was joined before (a history, a cache, results), collect the pieces in "
    "a list and join them once, at the end: each time it copies all that is there. If not, have "
    "the pieces written into one array from the start."
)
_JOINED_IN_LOOP: Final = (
    "Write what each iteration makes into an array of the final size ([tensorflow: tf.TensorArray "
    "| jax: what jax.lax.scan stacks | pytorch: a tensor made before the loop]): "
    "joining in each iteration copies all that was joined before."
)
_SLICED_IN_LOOP: Final = (
    "Most of the loop copies: what a scan goes over (xs) is sliced, and what it gives back (ys) "
    "written again, whole, however little of it an iteration changes. Keep what changes in the "
    "carry, and write only that (an update of a slice works in place there), or hold one array per "
    "layer and leave the loop out."
)
# What XLA runs for that.
_SLICES: Final = re.compile(r"dynamic[-_](?:update[-_])?slice|dynamic_(?:update_)?index_in_dim")
_MOSTLY_SLICES: Final = 50
_LOOP: Final = (
    "Compute all iterations at once ([tensorflow: batched ops, tf.vectorized_map | jax: jax.vmap | "
    "pytorch: torch.vmap]) where none needs the one before; a recurrence that is linear (a decay, "
    "a running mean) is a cumulative sum, a convolution or one product with a matrix of its "
    "weights. Where each needs the one before, compute what comes out the same in all of them "
    "once, before the loop (keys and values of a source, a table), and look at the largest op in "
    "them; else make fewer, larger ones."
)
_FACTOR: Final = (
    "Do it every n-th step or on smaller matrices; for a largest singular value iterate."
)
_SOLVED: Final = (
    "Where the matrix is a diagonal one plus a product of narrow ones (B Bᵀ + D: factors, inducing "
    "points, ridge regression), its inverse and its determinant come from a matrix as small as the "
    "narrow side (Woodbury's identity[tensorflow: ; tf.linalg.LinearOperatorLowRankUpdate]"
    "[pytorch: ; torch.distributions.LowRankMultivariateNormal]). Where all of a batch have one, "
    "or it stays the same, factor it once and keep the factors; else do it every n-th step or on "
    "smaller matrices."
)
_BY_INDEX: Final = (
    "Take only the rows that are used, once for all that read them, with indices in order; adding "
    "to rows, sort by index before the loop and add whole segments."
)
_LAYOUT: Final = (
    "Keep one layout from the input on, and let products take an operand as it is (transpose "
    "flags, order of dimensions), so that nothing is rearranged in between."
)
_TYPES: Final = "Make data of the type that the step computes in before the loop, constants too."
_COPIES: Final = (
    "Look for what copies: clones, copies of state, changes of type or layout. Copy every n-th "
    "step, or swap references instead."
)
_COALESCED: Final = (
    "Make and coalesce a matrix that does not change once, before the loop, and keep it in the "
    "layout that products want (to_sparse_csr), for all layers that use it."
)
_DISTINCT: Final = "Do it once, before the loop, or keep the indices of the batch with the data."
_LARGE: Final = (
    "Ask whether what it works on changes from step to step: if not (weights of a frozen model, a "
    "table, a graph), compute it once, before the loop. Look at how large it is: broadcasting may "
    "make one of all pairs, where a product of matrices, or a sum in blocks, gives the same from "
    "less."
)
_CHAIN: Final = (
    "Look for what these ops are a formula of (a loss, a penalty, a norm, a mask, an activation), "
    "and at the shapes it works on: subtracting an (n, 1) tensor from an (n,) tensor broadcasts to "
    "n × n. Compute what stays the same once, and the rest in one compiled function "
    "([tensorflow: tf.function(jit_compile=True) | jax: jax.jit | pytorch: torch.compile]), "
    "which makes one pass over memory of a chain."
)
_SPARSE: Final = (
    "Look at how full the sparse matrix is: from a few per cent on a product of dense matrices is "
    "faster on most hardware; make it dense once, before the loop ([tensorflow: tf.sparse.to_dense "
    "| jax: todense | pytorch: to_dense]). If it is emptier: fewer columns on the dense side, or "
    "sums over neighbours by index."
)
_PLACES: Final = (
    "If nothing reads where each maximum was, tf.nn.max_pool2d returns the maxima alone; where "
    "the places serve to enlarge a map again, repeating or resizing it costs less."
)
_ON_HOST: Final = (
    "Read values every n-th step, many at once as one array: each read waits for all that was "
    "started before."
)

#: For products that no gradient goes through.
UNTRAINED: Final = (
    "See what they are computed from: what stays the same, compute once, before the loop, and hand "
    "it over; what another pass has computed in this step, take from there; a metric or a check "
    "every n-th step will do."
)
#: For ops that compare, and add up what is true.
COUNTS: Final = (
    "Ops that compare (Greater, Equal) beside sums and casts often count: a metric, maybe over "
    "many thresholds or classes. Compute it every n-th step or once an epoch; over thresholds sort "
    "values into buckets once, and add the buckets up (cumsum), in place of comparing all with "
    "each."
)
#: Of cells of recurrent layers that PyTorch's programs call for each position.
CELLS: Final = (
    "A recurrent cell is called for each position: call the layer over the whole sequence "
    "(torch.nn.LSTM, GRU or RNN), which projects all inputs in one product; what the loop "
    "concatenates as it grows, collect in a list and stack once."
)
_CELL: Final = re.compile(r"\b(?:lstm|gru|rnn_tanh|rnn_relu)_cell\b")


def of_cells(said: str) -> bool:
    """Whether what a part is made of, or runs within, is such cells."""
    return _CELL.search(said) is not None


#: For what a model is made of.
NEEDED: Final = (
    "Look at how much of it is needed: what is thrown away, was computed before, or is the same in "
    "every step. Leave that out for some steps and time the loop."
)
HALVED: Final = (
    "If all of it is: make one variant with half the size (units, filters, resolution, or length "
    "of sequences: how much of that is padding?); if the step shortens accordingly, less of it is "
    "what helps."
)
#: For summaries of TensorFlow's.
SUMMARIES: Final = (
    "Write summaries in every n-th step, and histograms of few variables: tf.summary.histogram "
    "sorts all elements of a variable into buckets."
)
#: For Python that takes longer from step to step.
BOUNDED: Final = (
    "Look for what gets longer with every step (a list, a buffer, a history) and is gone over as a "
    "whole: bound it, or keep what each step needs of it (a running sum, a tree) as it grows."
)
#: For what Python hands over piece by piece; and for a step that is few calls already.
FEWER: Final = (
    "Put the whole step into one compiled function "
    "([tensorflow: tf.function | jax: jax.jit | pytorch: torch.compile]) "
    "and compare the step's time.",
    "Make fewer, larger calls from Python: one op over all parameters or samples, not one each.",
)
LARGER: Final = (
    "Double the batch and compare the time per sample: what the loop costs around the step's few "
    "calls is then paid half as often.",
    "Let one call run several steps: [tensorflow: steps_per_execution of Keras' "
    "compile, or a loop over batches within the tf.function | "
    "jax: a scan over batches | pytorch: a CUDA graph of several].",
)
#: For functions that torch.compile made, whose own code launches their kernels.
RECORD_GRAPH: Final = (
    "It is compiled already; the code that torch.compile wrote launches its kernels one by one. "
    "Record them as one CUDA graph, if shapes stay the same: torch.compile(…, "
    "mode='reduce-overhead').",
    "See whether it is compiled in one piece: TORCH_LOGS=graph_breaks names the lines that part "
    "it.",
)
#: For calls of compiled functions while data goes to the device.
ARGUMENTS: Final = (
    "Look at what the call is given: a NumPy array is copied to the device at each call. Put what "
    "does not change there once, before the loop (jax.device_put), and the batch while the step "
    "before it computes."
)
#: For a program of several devices that is given all of the batch on each.
DIVIDED: Final = (
    "Divide the batch among the devices before the call (jax.device_put(batch, NamedSharding(mesh, "
    "PartitionSpec('data')))): all that this function is given is whole on each of them, and so "
    "each does all of the work."
)
#: For a copy of an argument that a compiled function makes to write into it.
DONATED: Final = (
    "Donate the argument, if the caller goes on with the result alone: "
    "jax.jit(function, donate_argnums=...). It is then updated in place, not copied first."
)
#: For what is freed when a pass over the data ends.
FREE_SELDOM: Final = (
    "If epochs are long in the whole run, leave it: it is paid once for each. If they are short: "
    "one iterator for several (dataset.repeat and steps_per_epoch), and no larger shuffle buffer "
    "and prefetch than needed.",
)
#: For a function that a step calls several times, with its name.
CALLS: Final = (
    "See whether a step needs all of these calls of {}: what one has computed, another may take "
    "over, or one is not needed at all."
)
#: For what works on pairs that small tensors make.
PAIRS: Final = (
    "Look at these shapes: if pairs are not meant, give both tensors the same shape (squeeze, "
    "view); if they are, a product of matrices, or a sum in blocks, may give the same from less."
)
#: For what works on tensors that padding has made.
LESS_PADDING: Final = (
    "Pad to what is needed and no further: to the multiple that the layers want, or to the longest "
    "of a batch of similar lengths."
)
#: For what one run of many has most of.
AGAIN: Final = (
    "Record again after some steps: a run that takes so much longer than the others also starts "
    "the device, loads what it needs or chooses a kernel."
)
#: For values that the host reads.
READ_LATER: Final = (
    "Keep sums and metrics on the device and read them every n-th step: each read waits for all "
    "that was started before it.",
    "Read many values at once, as one array, and not one by one.",
)
#: For updates of all variables.
FOREACH: Final = (
    "It updates all variables at once already; [pytorch: fused=True, where the optimizer has it, | "
    "tensorflow: compiling it | jax: compiling it] makes one pass over memory of them, and "
    "optimizers with less state read less."
)
#: For what updates variables of which a batch touches little.
ROWS_ALONE: Final = (
    "Update all variables at once (fused or foreach), and only what a batch touched: of a large "
    "table the rows that it read, with sparse gradients and an optimizer that keeps them sparse. "
    "Regularising the whole table makes its gradient dense."
)

#: Of TensorFlow's products that oneDNN does not run.
NOT_FLOAT32: Final = (
    "Check the data type of weights and inputs: these ops do not run in oneDNN's kernels, and in "
    "float64 (NumPy arrays, tf.keras.backend.floatx, tf.float64) they cannot; that takes about "
    "twice as long as float32. Else oneDNN is off: TensorFlow before 2.9, TF_ENABLE_ONEDNN_OPTS=0, "
    "or another processor than x86."
)
#: Of products in which the recording has no data type.
CHECK_TYPE: Final = (
    "Check the data type of weights and inputs, which was not recorded: in float64 (NumPy arrays, "
    "[tensorflow: tf.keras.backend.floatx | jax: jax_enable_x64 | pytorch: "
    "torch.get_default_dtype]) products take about twice as long as in float32."
)
#: For what may be needed less often, or smaller.
KEEP_NEEDED: Final = (
    "If it is needed: compute what does not change once, before the loop, and hand it over as an "
    "argument; make what it works on smaller."
)
DRAWN: Final = (
    "Draw fewer numbers: for activations rather than for weights, for what is sampled alone, once "
    "for several steps or before the loop. On a TPU the hardware's generator is faster than JAX's "
    "own (jax.config.update('jax_default_prng_impl', 'rbg')); on a CPU it may be slower."
)
_ONCE_AS_NUMBERS: Final = (
    "Turn text into numbers once, before the loop: in the dataset, with a cache behind it. What is "
    "a number needs no text to be hashed: a remainder, or tf.keras.layers.Hashing of integers."
)
_EXPONENTIALS: Final = (
    "Where many exponentials are of multiples of one matrix (times along branches, steps of one "
    "generator), decompose that once ([pytorch: torch.linalg.eigh, or eig | jax: jnp.linalg.eigh, "
    "or eig | tensorflow: tf.linalg.eigh, or eig]; a reversible process is symmetric after "
    "scaling) and exponentiate its eigenvalues: a product for each is left. Where each result "
    "only multiplies vectors, multiply these with the matrix again and again instead."
)
_FAMILIES: Final = {
    _COALESCED: "coalesce to_sparse to_sparse_csr to_dense",
    _SORTED: "Sort sort top_k approx_top_k topk argsort",
    _ONE_HOT: "OneHot one_hot",
    _JOINED: "cat concat concatenate Concat ConcatV2 stack Pack TensorArrayConcat",
    _LOOP: "While while scan StatelessWhile",
    _FACTOR: "Svd svd linalg_svd linalg_svdvals Qr qr geqrf linalg_qr SelfAdjointEig Eig eigh eig "
    "linalg_eigh linalg_eig linalg_pinv",
    _EXPONENTIALS: "matrix_exp linalg_matrix_exp MatrixExponential expm",
    _SOLVED: "Cholesky cholesky linalg_cholesky linalg_cholesky_ex MatrixInverse linalg_inv "
    "linalg_inv_ex MatrixSolve linalg_solve linalg_solve_ex MatrixTriangularSolve triangular_solve "
    "triangular-solve linalg_solve_triangular linalg_lu_solve",
    _BY_INDEX: "Gather gather ResourceGather GatherNd index index_select take scatter scatter-add "
    "scatter_add index_add index_put UnsortedSegmentSum ScatterNd embedding_dense",
    _LAYOUT: "Transpose transpose contiguous",
    _TYPES: "Cast convert_element_type _to_copy",
    _COPIES: "copy copy_ clone DeepCopy",
    _DISTINCT: "Unique unique Where nonzero",
    _LARGE: "add sub mul div pow square squareddifference squared_difference abs exp log sqrt "
    "rsqrt where select maximum minimum sum mean reduce_sum reduce_max max min norm cdist Add "
    "AddV2 Sub Mul RealDiv Pow Square SquaredDifference Exp Log Sum Mean Max Min Maximum Minimum "
    "Select",
    _CHAIN: ELEMENTWISE,
    ROWS_ALONE: "AssignVariableOp AssignAddVariableOp AssignSubVariableOp",
    _ON_HOST: "item",
    _SPARSE: "SparseTensorDenseMatMul SparseMatrixMatMul sparse_mm",
    _ONCE_AS_NUMBERS: TEXT,
    _PLACES: "MaxPoolWithArgmax",
    DRAWN: RANDOM,
}
#: What to do about functions of numbers or matrices that are many ops each.
ROUTINES: Final = (_SORTED, _FACTOR, _EXPONENTIALS, _SOLVED)
_OF: Final = {name: text for text, names in _FAMILIES.items() for name in names.split()}


_LOOPS: Final = frozenset(_FAMILIES[_LOOP].split())


def is_loop(family: str) -> bool:
    """Whether ops of this family are loops in compiled programs."""
    return family in _LOOPS


def instead_of_slices(made_of: str) -> str:
    """What to do about a loop that mostly slices and puts together arrays; "" of others."""
    return _SLICED_IN_LOOP if percent(made_of, _SLICES) >= _MOSTLY_SLICES else ""


def instead_in_loop(family: str) -> str:
    """What to run instead of an op of this family in each iteration of a loop; "" unknown."""
    return _JOINED_IN_LOOP if _OF.get(family) == _JOINED else ""


#: Attention: what it costs, and what to look at.
ATTENTION: Final = (
    "Attention's cost grows with the square of the length of its sequences: look at how long they "
    "are here, and how much of that is padding; group samples of one length, or cut them."
)
_ATTENDS: Final = re.compile(r"attention|\bmha\b", re.IGNORECASE)


def of_attention(said: str) -> bool:
    """Whether names of ops or layers say attention."""
    return _ATTENDS.search(said) is not None


def instead_of(family: str) -> str:
    """What to run instead of an op of this family; "" where none is known."""
    return _OF.get(family, "")


def percent(made_of: str, named: re.Pattern[str]) -> int:
    """How much of a part what is named so has, by what the part is made of."""
    return sum(share for name, share in shares_of(made_of) if named.search(name))


# PyTorch's gradients of slices.
_OF_SLICES: Final = re.compile(r"(?:Select|Slice|Narrow|Index)Backward")
_ALL_SLICES: Final = (
    "Take all slices at once (unbind, split or chunk before the loop): the gradient of each slice "
    "fills a tensor of the whole size with zeros."
)


_READ_ROWS: Final = (
    "It makes a gradient of a whole table, zeros but for the rows that a batch looked up, and the "
    "optimizer then updates all of it. Differentiate with respect to these rows and update them "
    "alone ([jax: take the rows before the gradient, and add their updates to the table after it | "
    "pytorch: nn.Embedding(..., sparse=True) with torch.optim.SparseAdam | tensorflow: an "
    "optimizer that takes tf.IndexedSlices])."
)


def instead_within(between: str) -> str:
    """What to run instead of ops that another one calls, by where they run; "" unknown."""
    if is_of_table(between):
        return _READ_ROWS
    return _ALL_SLICES if _OF_SLICES.search(between) else ""


# What tf.vectorized_map, and with it tape.jacobian, names the ops of its rows.
_ROWS: Final = re.compile(r"/pfor/")
# What jax.jacfwd names the ops of its columns: tangents of all inputs at once, of a function that
# is called as it is. Of gradients by example JAX names the backward pass so as well.
_COLUMNS: Final = re.compile(r"^jit\(\w+\)/(?:jit\(\w+\)/)?vmap\(jvp\(")
_FORWARD: Final = (
    "jax.jacfwd, or jax.jvp under jax.vmap, runs the function once more for each of its inputs: of "
    "a function with few outputs, a loss above all, jax.grad or jax.jacrev gives the same numbers "
    "in one backward pass for each output."
)
_JACOBIAN: Final = (
    "tape.jacobian, batch_jacobian and tf.vectorized_map compute a row for each output. Where each "
    "output depends on its own example alone, tape.gradient of their sum, or of one column of "
    "them, gives the same numbers in one pass; else batch_jacobian leaves out the pairs of "
    "examples."
)


def instead_of_columns(op: str) -> str:
    """What to do about an op of a step without backward passes that is run for each input."""
    return _FORWARD if _COLUMNS.match(op) else ""


def instead_of_rows(made_of: str) -> str:
    """What to do about ops that compute a row for each output of a function; "" for others."""
    return _JACOBIAN if _ROWS.search(made_of) else ""


# What Python asks for one value with; a compiler stops at each.
_READ: Final = re.compile(r"\bitem\b|_local_scalar_dense|\btolist\b|__float__|__bool__")
# Fewer per cent of a part are not what it is about.
_MANY_READS: Final = 10
_ALL_AT_ONCE: Final = (
    "Python asks for values one by one: take them all at once, as one array ([tensorflow: numpy "
    "| jax: np.asarray | pytorch: tolist or numpy]), and loop over that, or compare and "
    "select whole tensors. A compiler stops at each of them."
)


def instead_of_reads(made_of: str) -> str:
    """What to do where values are read one by one, by what a part is made of; "" where few are."""
    return _ALL_AT_ONCE if percent(made_of, _READ) >= _MANY_READS else ""


_ONE_FORMAT: Final = (
    "Keep one memory format through the network: an op without a kernel for channels_last "
    "(group_norm) lays its tensors out otherwise, and the next convolution turns them back. "
    "Replace it, or leave the network in the format that most of its ops take."
)
_ONE_STRIDE: Final = (
    "Let the op take the tensor as it is: broadcasting instead of expand and reshape, heads as a "
    "dimension of their own instead of copies of keys (enable_gqa), a view instead of a transpose."
)
_ONE_TYPE: Final = (
    "Autocast changes types at the border of each op: cast the weights once (model.bfloat16()), "
    "keep norms and the loss in the type that the ops around them use, or compile the step, which "
    "fuses casts with what reads them."
)


_INSTEAD_OF_COPIES: Final = {
    CHANGES_TYPES: _ONE_TYPE,
    CHANGES_LAYOUTS: _ONE_STRIDE,
    CHANGES_LAYOUTS_OF_IMAGES: _ONE_FORMAT,
}


def instead_of_copies(part: PartRow) -> str:
    """What to do about PyTorch's copies, by what most of them are for; "" unknown."""
    known = (trait for trait in part.traits.split() if trait in _INSTEAD_OF_COPIES)
    return _INSTEAD_OF_COPIES.get(next(known, ""), "")
