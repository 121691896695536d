"""What to do about calls of well-known libraries, which are slow for reasons of their own."""

from __future__ import annotations

import re
from functools import cache
from typing import Final


def _named(packages: str, functions: str = "") -> str:
    """Calls of packages, or of these functions in them, whatever class or module they are in."""
    either = "|".join(packages.split())
    last = "|".join(functions.split())
    return rf"^(?:{either})\." + (rf"(?:\w+\.)*(?:{last})$" if last else "")


# Looked through in this order: functions before the packages that they are in.
_KNOWN: Final = (
    (
        _named("scipy", "__getitem__ getrow getcol _getrow _getcol _major_index_fancy "
               "_minor_index_fancy _minor_reduce"),
        "Of a sparse matrix rows are found at once in CSR, and columns in CSC; in the other one it "
        "goes over all entries. Convert it once, where it is loaded (tocsr, tocsc), and take all "
        "rows of a batch in one call.",
    ),
    (
        _named("scipy", "tocsr tocsc tocoo tolil toarray todense"),
        "It makes another matrix of all entries: convert once, where it is loaded, and take the "
        "rows of a batch before they become dense.",
    ),
    (
        _named("scipy librosa resampy torchaudio", "resample resample_poly decimate load"),
        "Cut out what is used before it is resampled, or resample all once, ahead of training, and "
        "store that.",
    ),
    (
        _named("scipy", "cdist pdist squareform"),
        "It compares all with all: a k-d tree (scipy.spatial.cKDTree), or candidates by a grid, "
        "find neighbours among few.",
    ),
    (
        _named("scipy", "linear_sum_assignment"),
        "What it costs grows with the cube of what it matches: leave out pairs that cannot match, "
        "and match a batch's parts on several processes.",
    ),
    (
        _named("scipy", "interp1d griddata RegularGridInterpolator map_coordinates zoom rotate "
               "affine_transform"),
        "Make the interpolator, or its indices and weights, once; a lower order (order=1) and "
        "fewer points cost less.",
    ),
    (
        _named("pandas", "iterrows itertuples apply applymap map"),
        "It calls Python for each row: work on whole columns, as NumPy arrays that are made once "
        "(to_numpy).",
    ),
    (
        _named("pandas", "concat append"),
        "Where it adds to what is there, it copies all of that each time: collect pieces in a "
        "list, and join them once.",
    ),
    (
        _named("pandas"),
        "A mask or a look-up in a table goes over all its rows, with much work around it, each "
        "time: group or index by the key once, before the loop (groupby(…).indices, a dict of row "
        "numbers), and keep columns as NumPy arrays.",
    ),
    (
        _named("numpy", "vectorize frompyfunc apply_along_axis apply_over_axes fromiter __call__"),
        "It calls Python for each element: write it with operations on whole arrays.",
    ),
    (
        _named("numpy", "append concatenate vstack hstack insert delete"),
        "Where it adds to what is there, it copies all of that each time: write into an array "
        "that is made once, before the loop (of past values a ring), or collect pieces in a list "
        "and join them once.",
    ),
    (
        _named("numpy", "sort argsort lexsort unique percentile quantile median nanmedian "
               "nanpercentile"),
        "It puts everything in order: np.argpartition finds the few largest, and np.bincount or "
        "np.searchsorted count into buckets. Of values that come in step after step keep counts, "
        "not all of them to sort again.",
    ),
    (
        _named("numpy", "load NpzFile.__getitem__ loadtxt genfromtxt fromstring"),
        "Where the same is read again, do that once: an .npz unpacks an array each time it is "
        "asked for it, and text is parsed again. np.load(…, mmap_mode='r') of .npy files reads "
        "what is used alone.",
    ),
    (
        _named("numpy", "isin in1d where nonzero argwhere setdiff1d intersect1d"),
        "Where it looks something up, it goes over all there is each time: an index that is made "
        "once (a dict, or sorted keys with np.searchsorted) finds the same at once.",
    ),
    (
        _named("numpy", "einsum"),
        "np.einsum of three operands or more loops over all indices: optimize=True, or np.matmul "
        "and np.tensordot, go through products of matrices.",
    ),
    (
        _named("numpy", "inv pinv solve svd eig eigh cholesky qr det slogdet lstsq"),
        "Factor the matrix once where it stays the same; of a diagonal matrix plus a product of "
        "narrow ones a matrix of the narrow side is enough (Woodbury's identity).",
    ),
    (
        _named("json yaml csv xml tomllib pickle marshal orjson ujson", "loads? load _load reader "
               "safe_load fromstring parse raw_decode decode"),
        "Where it parses the same again, do that once, before the loop, and keep arrays (.npy, "
        "Parquet, Arrow).",
    ),
    (
        _named("PIL cv2 imageio skimage torchvision"),
        "Of pictures: cut out and shrink first, at best while they are decoded (draft, reduced "
        "size); do what is alike in each epoch once and store it; work on uint8, and on tensors "
        "of a whole batch.",
    ),
    (
        _named("copy", "deepcopy _deepcopy_dict _deepcopy_list _reconstruct"),
        "It copies everything that can be reached: copy what changes alone, and arrays by .copy().",
    ),
    (
        _named("zlib gzip bz2 lzma zipfile tarfile zstandard"),
        "Where the same is unpacked again, do that once and keep it; else pack it more lightly "
        "(lz4, zstd, a low level).",
    ),
    (
        _named("networkx"),
        "It works in Python, edge by edge: scipy.sparse.csgraph does the same on arrays; of a "
        "graph that stays the same do it once.",
    ),
    (
        _named("h5py zarr netCDF4 xarray tables"),
        "Each access reads and unpacks whole chunks: read the rows of a batch in one call, in "
        "order, from chunks of the shape that is read; what fits in memory load once.",
    ),
    (
        _named("sqlite3 psycopg2 sqlalchemy duckdb"),
        "Ask for all rows of a batch in one query, by an index, and for the next batch on another "
        "thread.",
    ),
    (
        _named("sklearn xgboost lightgbm catboost"),
        "Its calls cost much around what they compute: give it a whole batch at once, and fit "
        "what stays the same once.",
    ),
    (
        _named("random"),
        "It draws one number at a time: numpy.random.Generator draws whole arrays.",
    ),
    (
        _named("re"),
        "Compile the pattern once and look at a text once; for words that are known, a dict, "
        "str.split or str.translate does the same for less.",
    ),
    (
        _named("datetime _strptime dateutil", "strptime _strptime parse"),
        "Turn text into times once, where it is read.",
    ),
    (
        _named("transformers tokenizers sentencepiece spacy nltk"),
        "Do it once, before training, and store the ids; in the loop give a fast tokenizer a whole "
        "batch.",
    ),
    (
        _named("matplotlib plotly seaborn"),
        "Draw every n-th step, or on another process, from numbers that the loop hands over.",
    ),
    (
        _named("requests urllib urllib3 http httpx aiohttp botocore boto3 s3fs fsspec gcsfs"),
        "Fetch ahead, several at a time on threads, in larger pieces, and keep what comes again.",
    ),
)  # fmt: skip


def of_library(call: str) -> str:
    """What to do about a call by its package or its name; "" of others.

    Args:
        call: As people know it, ``numpy.argsort``.
    """
    return next((ask for pattern, ask in _patterns() if pattern.match(call)), "")


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Compiled when first asked for: most commands ask for none."""
    return tuple((re.compile(pattern), ask) for pattern, ask in _KNOWN)
