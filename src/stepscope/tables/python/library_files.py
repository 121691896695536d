"""Files of frameworks and libraries, known by name where a recorder wrote no path.

JAX's and TensorFlow's tracers of Python name a function by its file alone, as in
``$array.py:615 _value``. Names that programs use as well (``utils.py``, ``model.py``) are left
out: its caller then says whose a function is.
"""

from __future__ import annotations

import re
import sys
from itertools import takewhile
from typing import Final

_FRAMEWORK = (
    "abstract_arrays ad ad_checkpoint ad_util all_util ann api_util argument_validation "
    "array_api_metadata array_constructors array_creation array_grad array_methods array_ops "
    "array_ops_stack atomic_function attributes audio_dataset_utils auto_control_deps "
    "auto_control_deps_utils autograph_ops autograph_util backend_utils backprop backprop_util "
    "base_layer basearray batch_op batch_ops batching bincount_ops bitwise_ops blocked_sampler "
    "boosted_trees_ops buffer_callback byte_swap_tensor c_api_util cache_key cache_op "
    "cancellation candidate_sampling_ops check_ops checkify choose_from_datasets_op clip_ops "
    "cloud_tpu_init clustering_ops code_stats collective_ops combinations common_shapes "
    "compilation_cache compilation_cache_interface compiler_ir composite_tensor "
    "composite_tensor_gradient composite_tensor_ops composite_tensor_utils compute_on "
    "concatenate_op concrete_function cond cond_v2 confusion_matrix constant_op "
    "constant_tensor_conversion control_flow_assert control_flow_case control_flow_grad "
    "control_flow_ops control_flow_state control_flow_switch_case control_flow_util "
    "control_flow_util_v2 control_flow_v2_func_graphs control_flow_v2_toggles "
    "convert_to_constants counter_op cpp_shape_inference_pb2 critical_section_ops ctc_ops "
    "cudnn_rnn_grad custom_api_util custom_batching custom_derivatives custom_gradient "
    "custom_nest_protocol custom_partitioning custom_partitioning_sharding_rule data_flow_grad "
    "data_flow_ops dataloader dataset_autograph dataset_ops dataset_utils debug_mode "
    "decorator_utils def_function default_gradient deprecated_module deprecated_module_new "
    "deprecation deprecations device_spec directed_interleave_op distribution_lib dlpack "
    "dtype_utils eager_function_run earray environment_info error_check error_interpolation "
    "errors_impl eval_jaxpr example_parser_configuration execute executor extension_type "
    "extension_type_field filesystem_ops filter_op flat_map_op flatten_util flexible_dtypes "
    "forwardprop forwardprop_util framework_lib from_generator_op from_sparse_tensor_slices_op "
    "from_tensor_slices_op from_tensors_op frozen_dict func_graph function_context "
    "function_def_to_graph function_type_utils function_utils functional_ops gpu_util "
    "gradient_checker gradient_checker_v2 gradients gradients_impl gradients_util grain_utils "
    "graph_io graph_only_ops graph_to_function_def graph_util graph_util_impl "
    "group_by_window_op handle_data_util hardware_utils hashable_array hijax histogram_ops "
    "ignore_errors_op image_dataset_utils image_grad image_ops image_ops_impl image_utils "
    "immutable_dict imperative_grad importer index_tricks indexed_slices indexing init_ops "
    "init_ops_v2 initializers_ns inplace_ops integrate interleave_op io_ops io_utils "
    "is_in_graph_mode iterator_autograph iterator_ops jax_layer jax_utils jaxpr_util keras_deps "
    "kernels keyword_args lax lax_numpy lax_reference layer lazy_loader lift lift_to_graph "
    "linalg_grad linalg_ops linalg_ops_impl linear_util literals load_library load_op lock_util "
    "logging_config logging_ops lookup_grad lookup_ops lru_cache manip_grad manip_ops map_fn "
    "map_op map_ops math_grad math_ops mesh_utils meta_graph metrics_impl mlir model_analyzer "
    "model_visualization module_utils module_wrapper multi_device_iterator_ops named_sharding "
    "naming nccl_ops ndimage nest nest_util nn_fused_batch_norm_grad nn_grad nn_impl "
    "nn_impl_distribute nn_ops none_tensor numerical_utils numerics numpy_compat "
    "object_identity op_callbacks op_def_library op_def_library_pybind op_def_registry "
    "op_selector op_shardings optimizer option_builder optional_grad optional_ops other "
    "override_binary_operator padded_batch_op parallel parsing_config parsing_grad "
    "partition_spec partitioned_variables path philox2x32 philox4x32 pickle_util pjit pmap "
    "polymorphic_function prefetch_op pretty_printer prng profiler profiler_client profiler_v2 "
    "progbar proto_ops pxla python_memory_checker python_utils ragged_batch_op random_crop_ops "
    "random_grad random_op random_ops_util random_seed range_op rbg rebatch_op record "
    "reductions ref ref_variable remat remote repeat_op resource_variable_ops "
    "resource_variables_toggle resources rng_utils rnn_cell rnn_cell_impl rnn_grad "
    "sample_from_datasets_op save_op saved_model_exported_concrete saved_model_utils "
    "scalar_types scale scaled_dot scan_op sdca_ops sequence_utils serialization session_ops "
    "setops sets_impl shape_util shard_alike shard_map shard_op sharding sharding_impls "
    "shuffle_op skip_op slicing smart_cond snapshot_op sort_ops sorting source_info_util "
    "sourcemap sparse sparse_batch_op sparse_grad sparse_ops sparse_tensor special "
    "special_math_ops stack stages standard_ops state_grad state_ops stateful_random_ops "
    "stateful_rng stateless_random_ops strict_mode string_ops structured_function subscribe "
    "summary_op_util summary_ops_v2 summary_utils take_op take_while_op tape template tensor "
    "tensor_array_grad tensor_array_ops tensor_contractions tensor_conversion "
    "tensor_conversion_registry tensor_getitem_override tensor_math_operator_overrides "
    "tensor_shape tensor_spec tensor_util tensorboard text_dataset_utils tf_contextlib "
    "tf_decorator tf_decorator_export tf_export tf_inspect tf_method_target tf_should_use "
    "tf_stack tf_utils tfprof_logger tfrt_utils threefry2x32 threefry4x32 "
    "timeseries_dataset_utils torch_utils tpu_custom_call traceable_stack traceback_util "
    "traceback_utils tracing_compilation trackable tracking trainer tree_util type_annotations "
    "type_spec type_spec_registry type_utils ufunc_api ufuncs unbatch_op unconnected_gradients "
    "unique_op variable_scope variable_utils variable_v1 vectorize versions weak_tensor "
    "weak_tensor_ops weights_broadcast_ops while_loop while_v2 while_v2_indexed_slices_rewriter "
    "window_functions window_op windowed_reductions wrap_function xla_bridge xla_metadata "
    "xla_metadata_lib xla_transform zip_op "
)
_LIBRARY = (
    "_add_newdocs _add_newdocs_scalars _array_utils_impl _arraypad_impl _arraysetops_impl "
    "_arrayterator_impl _asarray _base _compiler _datasource _dtype _dtype_ctypes _exceptions "
    "_format_impl _function_base_impl _helper _histograms_impl _index_tricks_impl _internal "
    "_iotools _linalg _methods _nanfunctions_impl _npyio_impl _parser _pocketfft "
    "_polynomial_impl _scimath_impl _shape_base_impl _stride_tricks_impl _string_helpers "
    "_twodim_base_impl _type_aliases _type_check_impl _ufunc_config _ufunclike_impl "
    "_user_array_impl _utils_impl arrayprint cversions decoder defchararray einsumfunc encoder "
    "fromnumeric function_base getlimits introspect memmap mixins multiarray npyio numeric "
    "numerictypes overrides printoptions queues recfunctions records scanner scimath shape_base "
    "stride_tricks strings umath user_array "
)
# Of pandas, Pillow, SciPy, scikit-learn, Matplotlib, PyYAML, Requests, tqdm and tokenizers.
_MORE = (
    "Image ImageChops ImageColor ImageDraw ImageEnhance ImageFile ImageFilter ImageFont ImageOps "
    "GifImagePlugin JpegImagePlugin PngImagePlugin PpmImagePlugin TiffImagePlugin "
    "WebPImagePlugin _axes _classification _distn_infrastructure _filters _interpolation _kdtree "
    "_kmeans _measurements _minimize _morphology _ni_support _optimize _param_validation "
    "_ranking _signaltools _spectral_py _stats_py adapters algorithms array_ops arraylike artist "
    "asyncify backend_agg backend_bases blocks c_parser_wrapper composer concat connectionpool "
    "construction constructor csvs datetimelike emitter frame groupby grouper indexing managers "
    "mask_ops melt nanops pivot putmask pyplot python_parser readers representer reshape "
    "rolling roperator selectn series sessions string_arrow timedeltas tokenization_utils "
    "tokenization_utils_base tokenization_utils_fast"
)
# Which module people import what these files hold from.
_IMPORTED = {
    "numpy": "arrayprint fromnumeric function_base _function_base_impl numeric multiarray umath "
    "shape_base _shape_base_impl _arraypad_impl _arraysetops_impl einsumfunc npyio _npyio_impl "
    "_nanfunctions_impl _twodim_base_impl _index_tricks_impl _histograms_impl "
    "_stride_tricks_impl _ufunclike_impl _type_check_impl",
    "numpy.linalg": "_linalg",
    "jax.numpy": "lax_numpy array_constructors array_creation reductions ufuncs "
    "tensor_contractions sorting setops window_functions",
    "jax.lax": "lax slicing windowed_reductions",
}
_MODULES: Final = {stem: module for module, stems in _IMPORTED.items() for stem in stems.split()}
# Of JAX, in files whose names programs use as well: the names of both are hardly anybody's own.
_API = (
    "_device_get block_until_ready copy_to_host_async device_get device_put device_put_replicated "
    "device_put_sharded effects_barrier try_to_block"
)
_OF_RANDOM = "PRNGKey bernoulli categorical fold_in normal randint split truncated_normal uniform"
_CORE = f"{_OF_RANDOM} bind bind_with_trace find_top_trace process_primitive"
_DISPATCH = "apply_primitive device_put_impl wait_for_tokens"
_TREE = (
    "all broadcast flatten flatten_with_path leaves leaves_with_path map map_with_path reduce "
    "structure transpose unflatten"
)
#: How a function that torch.compile made is called.
COMPILED_CALL: Final = "torch.compile's function"
# Functions that nobody calls by their name: what they are for.
_SAID: Final = {
    "array_methods.deferring_binary_op": "jax.Array's arithmetic",
    "traceback_util.reraise_with_filtered_traceback": "JAX's own call",
    "torch._fn": COMPILED_CALL,
    **{f"core.{name}": f"jax.random.{name}" for name in _OF_RANDOM.split()},
    **{f"tree.{name}": f"jax.tree.{name}" for name in _TREE.split()},
}


# The class that Keras's models inherit their loops from.
_TRAINER: Final = re.compile(r"^(?:TensorFlow|JAX|Torch)Trainer\b")


def public_name(stem: str, function: str) -> str:
    """Return a library function's public name: "numpy.sum" of "sum" in ``fromnumeric.py``."""
    function = _TRAINER.sub("Model", function)
    own = ".".join(filter(None, (stem, function)))
    module = _MODULES.get(stem, stem)
    # What a module keeps for itself nobody imports.
    module = stem if function.startswith("_") else module
    return _SAID.get(own, ".".join(filter(None, (module, function))))


# Packages whose folders are part of the names that programs use: scipy.optimize, jax.numpy.
_BY_FOLDER: Final = frozenset({"jax", "numpy", "scipy", "sklearn"})
# Folders of theirs, and packages with such files, whose functions are known without them.
_NO_MODULE: Final = re.compile(r"_src|lib|core")
_BY_FILE: Final = frozenset({"scipy", "sklearn"})


def module_of(inside: str) -> str:
    """The module that a file of an installed package belongs to, by its path in there.

    "numpy.linalg" of ``numpy/linalg/_linalg.py``: a name with an underscore is nobody's to use.
    """
    package, *folders = inside.replace("\\", "/").removesuffix(".py").split("/")
    if package not in _BY_FOLDER or not folders:
        return package
    *folders, stem = [one for one in folders if not _NO_MODULE.fullmatch(one)] or [""]
    names = [*folders, stem] if package in _BY_FILE else folders
    return ".".join([package, *takewhile(lambda name: name and name[0] != "_", names)])


# Packages of models: where no whole path was recorded, only the folder says whose a file is.
OF_MODELS: Final = re.compile(
    r"(?:^|[/\\])(?:transformers|diffusers|timm|peft|sentence_transformers)[/\\]"
)
# What their decorators put around a module's function says nothing of what it calls.
_AROUND: Final = re.compile(r"(?:^|\.)(?:_?wrapper|_?wrapped\w*|inner|\w+_with_checkpointing)$")


def is_around(file: str, function: str) -> bool:
    """Whether a function only wraps one of a package of models, as its decorators do."""
    return _AROUND.search(function) is not None and OF_MODELS.search(file) is not None


FRAMEWORK_CALLS: Final = {
    "api": frozenset(_API.split()),
    "core": frozenset(_CORE.split()),
    "dispatch": frozenset(_DISPATCH.split()),
    "tree": frozenset(_TREE.split()),
}
# Of JAX, TensorFlow and Keras.
FRAMEWORK_FILES: Final = frozenset(_FRAMEWORK.split())
# Of packages that programs call, where their folder is recorded; what is none of them, of Python
# itself or of a framework is taken for the program: an engine that serves is what is looked at.
_CALLED = (
    "IPython PIL accelerate aiohttp albumentations ase attr av boto3 botocore cachetools certifi "
    "charset_normalizer click cloudpickle contourpy cv2 datasets dill einops evaluate fsspec "
    "google grpc h5py huggingface_hub imageio ipykernel joblib jsonschema kornia librosa lmdb "
    "lz4 matplotlib mlflow msgpack nltk numba numexpr numpy omegaconf onnx opt_einsum orjson "
    "packaging pandas plotly polars prometheus_client psutil pyarrow pydantic pytz regex "
    "requests rich ruamel s3fs safetensors scipy seaborn sentencepiece simplejson skimage "
    "sklearn soundfile spacy sqlalchemy sympy tensorboard tensorboardX tensorboard_data_server "
    "threadpoolctl tokenizers torchdata torchmetrics tornado tqdm triton typing_extensions "
    "ujson urllib3 wandb webdataset xgboost yaml zmq "
    # Of graphs, games, molecules, recordings and scores.
    "catboost dask decord filelock gensim gym gymnasium hydra jinja2 jiwer lightgbm loguru "
    "minio mne mpmath networkx nibabel obspy openpyxl pettingzoo pycocotools pydicom rdkit "
    "redis rouge_score sacrebleu shapely statsmodels tabulate tifffile tiktoken wfdb zarr"
)
LIBRARY_PACKAGES: Final = sys.stdlib_module_names | frozenset(_CALLED.split())
# Of NumPy and others, and of packages of the standard library; its modules Python itself knows.
LIBRARY_FILES: Final = sys.stdlib_module_names | frozenset((*_LIBRARY.split(), *_MORE.split()))
